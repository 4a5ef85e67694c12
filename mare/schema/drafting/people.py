"""Words for people, in the languages that databases are written in: who is protected, who works there, what describes
somebody. And which texts people write, which name somebody, and which are codes.

A word is looked up without accents (`words`): élève and eleve are one. Where a plural is more than an s, both forms stand here.
"""

from __future__ import annotations

from collections.abc import Iterable

from mare.schema.columns.unmodelled import FakeKind
from mare.schema.reflection import ReflectedColumn

from .name_words import CODES, as_set, id_stem, in_order, is_vocabulary, singular, stem, words

_SURE = in_order(
    """
    patient person people subject participant beneficiary member donor client customer resident enrollee student pupil learner
    respondent individual policyholder insured citizen tenant passenger guest player voter applicant borrower inmate prisoner
    detainee owner claimant taxpayer volunteer traveller traveler visitor candidate attendee athlete recipient survivor
    refugee mother father guardian child children baby
    patiente personne adherent adherente assure assuree eleve etudiant etudiante locataire donneur beneficiaire abonne
    habitant detenu proprietaire joueur usager salarie voyageur membre tuteur tutrice
    patientin patienten kunde kunden kundin schuler schueler schulerin mitglied mitglieder bewohner versicherter versicherte
    versicherten mieter spender besitzer halter tierhalter eigentumer eigentuemer gast gaste gaeste spieler haftling proband
    probanden teilnehmer studierende studierender einwohner burger buerger fahrgast studenten
    paciente persona cliente alumno alumna estudiante socio socia miembro asegurado asegurada abonado donante inquilino
    residente dueno duena propietario jugador huesped preso afiliado pasajero ciudadano usuario
    paziente pazienti clienti alunno alunni studente studenti assicurato assicurati abbonato abbonati donatore donatori
    inquilini proprietario proprietari giocatore giocatori ospite ospiti detenuto soci residenti persone utente utenti
    assistito assistiti
    aluno aluna pessoa membro segurado segurada doador morador dono jogador hospede assinante passageiro estudante cidadao
    klant klanten leerling leerlingen persoon personen leden verzekerde verzekerden huurder eigenaar eigenaren bewoners
    deelnemer speler gedetineerde
    elev elever elevar kund medlem medlemmer medlemmar beboer beboere deltager deltagere deltagare pasient pasienter borger
    borgere ejer lejer potilas asiakas pacjent pacjenci klient klienci uczen osoba osoby
    """
)
_MAYBE = ("holder", "subscriber", "buyer", "driver", "rider", "reader", "user", "account")
"""Often somebody's login beside the people themselves."""
_RECORDS = ("dm", "adsl")
"""Tables of a trial that hold each person once, by its standard. Elsewhere a table of demographics need not hold all of them."""
PERSONS = (*_SURE, *_MAYBE)
"""Words for the people whose data this is, the most telling first."""

STAFF = as_set(
    """
    employee provider caregiver staff doctor physician practitioner clinician nurse surgeon worker operator
    technician prescriber therapist pharmacist personnel teacher instructor professor lecturer tutor trainer coach agent clerk
    manager salesperson seller adviser advisor officer judge lawyer librarian cashier consultant investigator psychologist
    counselor counsellor dentist midwife broker adjuster vet veterinarian veterinary groomer handler paramedic radiologist
    anesthetist anaesthetist optometrist physiotherapist carer warden guard supervisor underwriter accountant attendant
    receptionist assistant referee umpire examiner interviewer analyst engineer mechanic faculty
    medecin docteur infirmier infirmiere soignant praticien veterinaire enseignant enseignante professeur employe employee
    vendeur conseiller chirurgien pharmacien dentiste kinesitherapeute sagefemme gestionnaire
    arzt arzte aerzte arztin tierarzt tierarzte tieraerzte lehrer lehrerin mitarbeiter mitarbeiterin angestellter angestellte
    pfleger pflegekraft schwester therapeut therapeuten apotheker verkaufer verkaeufer berater betreuer hebamme zahnarzt
    medico medica enfermero enfermera veterinario empleado empleada profesor profesora maestro maestra docente vendedor asesor
    cirujano farmaceutico personale dipendente dipendenti insegnante insegnanti infermiere infermieri medici veterinari dottore
    enfermeiro funcionario professora vendedora
    dokter artsen verpleegkundige verpleegkundigen dierenarts dierenartsen leraar leraren docent docenten medewerker
    lege laege lage lakare larer laerer sygeplejerske medarbejder ansatt ansatte dyrlaege dyrlage dyrlege
    lekarz lekarze nauczyciel nauczyciele pracownik pracownicy
    """
)
"""Words for people who are not the entity: they are replaced by a pool."""
_STAFF_LINKS = as_set("by par von por da door av przez")
"""Last words of a reference that somebody did something: `performed_by`."""

OWNED = as_set("address contact adresse adres direccion indirizzo endereco")
"""Words of rows that belong to the rows that refer to them."""

HELD = as_set("account policy contract household family portfolio subscription mortgage lease membership deposit wallet")
"""Words of what people hold, alone or together: its rows are about them, whoever refers to whom."""

_BEINGS = as_set(
    """
    animal pet dog cat horse cow cattle bird herd livestock child children baby infant newborn dependent dependant relative spouse
    sibling twin kid son daughter kin tier tiere haustier hund katze pferd kind kinder enfant chien chat cheval conjoint mascota
    perro gato caballo hijo hija animale animali figlio filho dier dieren kat paard dyr barn
    """
)
"""Words of those who live under somebody's name and have facts of their own."""

PERSONAL_TRAITS = as_set(
    """
    gender sex male female age birthdate birthday dob race ethnicity marital surname lastname firstname maiden ssn
    passport gestational email phone mobile hired nationality forename fullname familyname givenname telephone
    income religion smoker smoking occupation revenu einkommen ingresos reddito inkomen dochod
    sexe prenom courriel telefon telefono telefone geschlecht vorname nachname familienname staatsangehorigkeit
    sexo apellido apellidos correo sesso cognome celular cellulare sobrenome apelido geslacht voornaam
    achternaam kjonn kon fornavn etternavn efternavn fornamn efternamn plec imie nazwisko
    """
)
"""Words of columns that describe a person."""

_BIRTHS = as_set("born dob yob bday geb gebdat")
_BIRTH_STEMS = (
    "birth", "geburt", "geboren", "naissance", "nacimiento", "nascimento", "nascita", "geboorte", "fodsel", "foedsel", "fodelse",
    "foedt", "syntyma", "urodzen", "narozen", "szulet", "dogum",
)  # fmt: skip
_DEATHS = as_set("dod tod mort morte muerte decede decedee obito dead zgon")
_DEATH_STEMS = (
    "death", "decea", "died", "deces", "todes", "sterbe", "verstorben", "gestorben", "fallec", "defuncion", "falecimento",
    "overlijd", "overleden", "dodsdat", "doeds",
)  # fmt: skip


_PLACES = as_set(
    "store shop branch outlet warehouse depot station terminal airport supermarket library venue museum cinema theater"
)
"""Words of places that a company has and nobody lives in; a practice or a hotel may bear its owner's name."""
_CONTACTS = as_set("email mail phone telephone mobile fax telefon telefono telefone courriel correo")
_PEOPLES = as_set("manager owner contact head director responsible person keeper operator")


def is_place(table: str, columns: Iterable[str]) -> bool:
    """A list of places, and nothing in it describes or names anybody: at most whom to call there."""
    parts, names = words(table.rpartition(".")[2]), tuple(columns)
    traits = [name for name in personal_traits(names) if not is_contact(name)]
    named = [name for name in names if set(words(name)) & (_PEOPLES | _NAMED_PEOPLE) and not is_contact(name)]
    return bool(parts) and singular(parts[-1]) in _PLACES and not traits and not named


def is_contact(column: str) -> bool:
    """How somebody is reached."""
    return bool(_CONTACTS & set(words(column)))


def is_staff(table: str) -> bool:
    return any({word, singular(word)} & STAFF for word in words(table))


def names_staff(column: str) -> bool:
    """A reference that says who did it: `performed_by`, `traite_par`."""
    parts = words(column.removesuffix("_id"))
    return (len(parts) > 1 and parts[-1] in _STAFF_LINKS) or (len(parts) == 1 and parts[0] in _DOERS)


_DOERS = as_set("creator orderer modifier changer updater editor recorder approver enterer ersteller bearbeiter")
"""Whole names of references that say who did it."""


def is_held(table: str) -> bool:
    return bool(words(table)) and singular(words(table)[-1]) in HELD


def is_being(table: str) -> bool:
    """Whoever lives by themselves, though somebody else is protected for them: a pet of an owner, a child of a patient."""
    parts = words(table.rpartition(".")[2])
    return bool(parts) and bool({parts[-1], singular(parts[-1])} & _BEINGS)


def is_of_another(column: str) -> bool:
    """Whether a column tells something of somebody else than the row is about: `donor_age`, `mother_birth_year`."""
    return bool({word for part in words(column) for word in (part, singular(part))} & (_BEINGS | _OTHERS))


_OTHERS = as_set(
    "donor mother father parent partner husband wife caregiver carer guardian contact spender mutter vater madre padre"
)


def is_written(table: str) -> bool:
    """Whether rows are what somebody wrote, or a record of what was done: notes, messages, a log."""
    return bool(words(table)) and singular(words(table)[-1]) in _WRITTEN


_WRITTEN = as_set("note comment message remark memo letter log audit notification email chat correspondence notiz nachricht")


def is_once(table: str) -> bool:
    """What happens to a person once: `death`."""
    return bool({singular(word) for word in words(table)} & {"death", "deceased", "mortality"})


def is_owned(table: str) -> bool:
    return any(singular(word) in OWNED for word in words(table))


def person_rank(table: str) -> int | None:
    """How telling the table's name is: 0 for `patients`; None for what does not name people."""
    parts = words(table.rpartition(".")[2])
    if not parts or is_staff(table) or is_vocabulary(table):
        return None
    # The last word is the noun: `patient_notes` holds notes; `patient_data` holds patients.
    nouns = {stem(table), "".join(parts)}
    last = parts[-2] if len(parts) > 1 and parts[-1] in _WHAT_IS_KNOWN else parts[-1]
    nouns |= {last, singular(last)}
    return next((rank for rank, word in enumerate((*PERSONS, *_RECORDS)) if word in nouns), None)


_WHAT_IS_KNOWN = as_set("data info infos information detail details master demographic demographics profile profiles stammdaten")
"""Words behind those that a table holds, one row each."""


def describes_held(table: str, columns: Iterable[ReflectedColumn]) -> bool:
    """Demographics of households: what people hold together is not known to be there one row each, nor all of it."""
    rank = person_rank(table)
    return rank is not None and rank >= len(PERSONS) and any(is_held(id_stem(column.name) or "-") for column in columns)


def is_sure(rank: int) -> bool:
    """Whether a word of that rank names people and hardly anything else."""
    return rank < len(PERSONS) - len(_MAYBE)


def names_person(column: str) -> bool:
    """An id of a person: `patient_id`, `mrn`, `uniquepid`, `subject_id`, `patient_num`, and `Patient` alone."""
    of = id_stem(column)
    parts = words(column)
    whole = "".join(parts)
    if whole in _THEMSELVES or any(whole.endswith(end) and whole.removesuffix(end) in _COUNTED for end in _NUMBERS):
        return True
    return of is not None and (
        of in PERSONS or of in ("mrn", "uniquep", "uniquesubject", "pat", "empi", "nhs") or column.casefold() == "uniquepid"
    )


def surely_names_person(column: str) -> bool:
    """The same, where the name means people and hardly anything else: a `user_id` may be whoever typed it in."""
    return names_person(column) and (id_stem(column) or "".join(words(column))) not in _MAYBE


_THEMSELVES = as_set(
    "patient patientin proband probandin participant respondent customer pupil kunde kundin teilnehmer teilnehmerin eleve "
    "paciente paziente cliente aluno alumno klant leerling potilas asiakas pacjent "
    "subjectnameoridentifier studysubjectid beneid desynpufid enrolid lopnr"
)
"""Words that name whom a row is about where they are a column's whole name. Others may be yes or no (`member`, `resident`), a
school's subject, a program (`client`). And what software that everybody has calls it: Rave, OpenClinica, Medicare, MarketScan,
the registers of Sweden."""
_COUNTED = as_set(
    "patient subject participant proband probanden patienten patientin customer client member donor student beneficiary "
    "respondent insured kunden mitglied mitglieds versicherten schueler teilnehmer pat"
)
"""Of whom there are numbers that name one (`patient_num`, `Patientennummer`); those of children or guests count them."""
_NUMBERS = as_set("num number no nr nummer sk identifier ident pseudonym")
_PEOPLE_NUMBERED = as_set(
    "id pid ptid patid sid case caseid patno patnr subjno pnr idnr idno idcode idnumber subject subj individual "
    "recordid rid ptno studyid pseudonym pseudonymid"
)


def numbers_people(column: str) -> bool:
    """What people are told apart by in a table of their own, though its name may mean anything: `id`, `pid`, `case_id`."""
    return "".join(words(column)) in _PEOPLE_NUMBERED


def personal_traits(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that describe a person: evidence for who the entity is."""
    return tuple(name for name in columns if PERSONAL_TRAITS & {*words(name), "".join(words(name))} or is_birth(name))


def is_birth(column: str) -> bool:
    """When somebody was born, or a part of that date."""
    parts = words(column)
    return bool(set(parts) & _BIRTHS) or any(part.startswith(_BIRTH_STEMS) for part in parts)


def is_death(column: str) -> bool:
    """When somebody died."""
    parts = words(column)
    return bool(set(parts) & _DEATHS) or any(part.startswith(_DEATH_STEMS) for part in parts)


_FREE_TEXT = as_set(
    """
    note notes comment comments remark remarks text narrative description desc address street email mail phone
    telephone mobile fax url website firstname lastname surname fullname middlename title label message body info information
    subjective memo impression findings display history ssn passport drivers maiden instructions composer
    forename familyname givenname prenom courriel remarque remarques commentaire commentaires adresse rue vorname nachname
    familienname strasse bemerkung bemerkungen anmerkung kommentar notiz notizen beschreibung apellido apellidos correo calle
    direccion comentario comentarios observaciones descripcion cognome indirizzo descrizione sobrenome endereco descricao
    voornaam achternaam straat opmerking omschrijving fornavn etternavn efternavn fornamn efternamn telefon telefono telefone
    imie nazwisko
    """
)
_NAMED_PEOPLE = as_set(
    "first last middle full given family maiden sur nick display contact guardian spouse mother father kin login"
)
NAMES = as_set("name nom nombre nome naam navn namn")
"""What anything is called."""
_TEXT_EXCEPTIONS = as_set("type category class code status group unit method source")
_TITLES = as_set("contact job academic professional courtesy")
"""Of whose titles there are a few; a book has one of its own."""
_FAKES: tuple[tuple[frozenset[str], FakeKind], ...] = (
    (as_set("firstname forename given first prenom vorname voornaam fornavn fornamn imie"), "first_name"),
    (
        as_set(
            "lastname surname family maiden last nachname familienname apellido apellidos cognome sobrenome achternaam etternavn "
            "efternavn efternamn nazwisko"
        ),
        "last_name",
    ),
    (as_set("email mail courriel correo"), "email"),
    (as_set("phone telephone mobile fax telefon telefono telefone"), "phone"),
    (as_set("street strasse rue calle straat"), "street"),
    (as_set("address adresse direccion indirizzo endereco"), "address"),
    (as_set("iban"), "iban"),
    (NAMES | {"fullname"}, "name"),
)
"""Words of what can be made up, the surest first."""


def fake_kind(column: str) -> FakeKind | None:
    """What is made up in place of such a text, where its name tells."""
    parts = {*words(column), "".join(words(column))}
    return next((kind for named, kind in _FAKES if parts & named), None)


def fake_place(column: str) -> FakeKind | None:
    """The same of a table that is made up as a whole: where it is, and what a firm is called."""
    parts = {*words(column), "".join(words(column))}
    return next((kind for named, kind in _FAKE_PLACES if parts & named), None) or fake_kind(column)


_FAKE_PLACES: tuple[tuple[frozenset[str], FakeKind], ...] = (
    (as_set("company firm firma employer business entreprise empresa azienda ditta bedrijf"), "company"),
    (as_set("postcode postal zip zipcode plz cap codigopostal"), "postcode"),
    (as_set("city town ville ort stadt ciudad citta stad by"), "city"),
)


def is_free_text(column: str) -> bool:
    """Text that people write, or that names them. The name of a thing (`drug_name`) is a category."""
    parts = {singular(word) for word in words(column)} | set(words(column)) | {"".join(words(column))}
    if parts & NAMES:
        return (
            len(words(column)) == 1 or bool(parts & _NAMED_PEOPLE) or bool({singular(w) for w in parts} & (STAFF | set(PERSONS)))
        )
    titled = "title" in parts and parts & _TITLES
    return words(column) in (("first",), ("last",)) or (bool(parts & _FREE_TEXT) and not parts & _TEXT_EXCEPTIONS and not titled)


def is_answer(column: str) -> bool:
    """What was found, in words: `value_text` beside `value_num`."""
    parts = words(column)
    return len(parts) == 2 and parts[0] in _ANSWERS and parts[1] == "text"


_ANSWERS = as_set("value result answer response finding")


def is_title(column: str, columns: Iterable[str]) -> bool:
    """Whether a bare title is what somebody is addressed with: beside it stands what they are called."""
    called = {"name", "fullname", "lastname", "surname", "firstname", "familyname", "givenname"}
    return words(column) == ("title",) and any(
        "".join(words(name)) in called or {*words(name)} & _NAMED_PEOPLE for name in columns
    )


def is_addressee(column: str, columns: Iterable[str]) -> bool:
    """Whether a name is that of whoever an address is of: `ship_name` beside `ship_address`."""
    *whose, last = words(column) or ("",)
    return bool(whose) and last in NAMES and any(words(name) in ((*whose, "address"), (*whose, "street")) for name in columns)


def is_number_of(column: str) -> bool:
    """A text that names one thing or person: `birth_number`, `iban`, `account_to`."""
    parts = words(column)
    named = bool(set(parts) & _NAMING) or (len(parts) > 1 and parts[-1] in _NAMED_BY)
    return named and not set(parts) & _TEXT_EXCEPTIONS


_NAMING = as_set(
    "number nr iban creditcard debitcard account phone plate serial passport token hash username login mrn password "
    "licence license identifier"
)
_NAMED_BY = as_set("ref reference referenz barcode no nummer numero")
"""The same as a last word: a `reference_range` is none."""


def is_code(column: str) -> bool:
    """A code of a medical vocabulary: `icd_code`, `ndc`, `atc5`."""
    parts = words(column)
    return bool(set(parts) & CODES) and "version" not in parts and "type" not in parts and not is_free_text(column)

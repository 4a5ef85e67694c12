"""A vet's practice and a French school, as strangers keep them: whose rows they are, what orders them, who is never copied."""

from __future__ import annotations

import pytest

from mare.schema import Schema
from mare.schema.columns import Integer
from mare.schema.determined import FirstValue
from mare.schema.drafting import PublicFacts
from mare.schema.loading import load_document
from mare.schema.reflection import ReflectedTable
from tests.reflections import NOTHING_KNOWN, SIX_YEARS, comment_on, drafted, table, written

OWNERS = table("owners", "id integer, first_name string, last_name string, phone string?, city string", key="id")
BREEDS = table("breeds", "id integer, name string", key="id")
VETS = table("vets", "id integer, name string, specialty string", key="id")
TO_OWNER = {"owner_id": "owners.id"}


def animals(columns: str = "sex string, born_on date?, dead_on date?", name: str = "animals") -> ReflectedTable:
    described = f"id integer, owner_id integer, breed_id integer, {columns}"
    return table(name, described, key="id", refers={**TO_OWNER, "breed_id": "breeds.id"})


VISITS = table(
    "visits",
    "id integer, animal_id integer, vet_id integer, visited_at datetime, reason string",
    key="id",
    refers={"animal_id": "animals.id", "vet_id": "vets.id"},
)
SHOTS = table(
    "vaccinations",
    "animal_id integer, vaccine string, given_on date",
    key="animal_id+vaccine+given_on",
    refers={"animal_id": "animals.id"},
)


def practice(*more: ReflectedTable) -> Schema:
    return drafted(BREEDS, OWNERS, VETS, *(more or (animals(), VISITS, SHOTS)), facts=SIX_YEARS)


# --- what orders rows ---


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        ("dead_on date?", "id"),
        ("born_on date, dead_on date?", "id"),
        ("geburtsdatum date, sterbedatum date?", "id"),
        ("cancelled_at datetime?, x string", "id"),
        ("discharged_on date?, bed integer", "id"),
        ("date_sortie date?, lit integer", "id"),
        ("left_on date?, seq_no integer", "seq_no"),
        ("dead_on date?, bought_on date?", "bought_on"),
        ("started_on date?, reported_on date", "reported_on"),
        ("attendance_date date, weekend_rate number", "attendance_date"),
        ("discharged_on date, ward string", "discharged_on"),
        ("valid_from date?, valid_to date?", "valid_from"),
        ("created_at datetime, seen date?", "seen"),
        ("payment_date datetime, amount number", "payment_date"),
    ],
)
def test_rows_are_ordered_by_what_happened_in_them_never_by_how_something_ended(columns: str, order: str) -> None:
    things = table("things", f"id integer, owner_id integer, {columns}", key="id", refers=TO_OWNER)
    parent = drafted(OWNERS, things).tables["things"].parent
    assert parent is not None
    assert parent.order_by == (order,)


def test_births_are_what_a_table_of_births_is_ordered_by() -> None:
    births = table("births", "id integer, owner_id integer, birth_date date", key="id", refers=TO_OWNER)
    parent = drafted(OWNERS, births).tables["births"].parent
    assert parent is not None
    assert parent.order_by == ("birth_date",)


def test_an_end_orders_rows_of_a_folder_only_where_they_have_nothing_else() -> None:
    """There the source does not say that it is never NULL."""
    people = table("patients", "patient_id integer?, city string?")
    stays = table("stays", "stay_id integer?, patient_id integer?, discharge_date date?")
    bare = table("stays", "patient_id integer?, discharge_date date?")
    assert drafted(people, stays).tables["stays"].parent.order_by == ("stay_id",)  # type: ignore[union-attr]
    assert drafted(people, bare).tables["stays"].parent.order_by == ("discharge_date",)  # type: ignore[union-attr]


def test_a_death_follows_a_birth_in_any_language() -> None:
    beasts = animals("geburtsdatum date, sterbedatum date?", "tiere")
    assert drafted(BREEDS, OWNERS, beasts).tables["tiere"].columns["sterbedatum"].after == "geburtsdatum"  # type: ignore[union-attr]


# --- staff ---


@pytest.mark.parametrize(
    "staff",
    [
        table("vets", "id integer, name string", key="id"),
        table("aerzte", "id integer, name string, fach string", key="id"),
        table("enseignants", "id integer, nom string, matiere string", key="id"),
        table("grooming_team", "id integer, full_name string", key="id"),
        table("groomers_2", "id integer, vorname string, nachname string", key="id"),
    ],
    ids=lambda staff: staff.name,
)
def test_names_of_staff_are_never_copied(staff: ReflectedTable) -> None:
    visits = table(
        "visits", "id integer, owner_id integer, seen integer", key="id", refers={**TO_OWNER, "seen": f"{staff.name}.id"}
    )
    described = drafted(OWNERS, visits, staff).tables[staff.name]
    assert not described.public
    assert described.pool is not None
    assert all(name.type in ("text", "category") for name in described.columns.values())
    assert not any(getattr(name, "learn", False) for name in described.columns.values())


def test_whoever_something_was_done_by_is_staff_whatever_the_table_is_called() -> None:
    crew = table("crew", "id integer, name string", key="id")
    jobs = table("jobs", "id integer, owner_id integer, done_by integer", key="id", refers={**TO_OWNER, "done_by": "crew.id"})
    assert drafted(OWNERS, jobs, crew).tables["crew"].pool is not None


def test_names_in_a_copied_table_are_asked_about_before_anything_else() -> None:
    text = written(BREEDS, OWNERS, VETS, animals(), VISITS)
    assert load_document(text).schema.tables["breeds"].public
    asked = " ".join(line.lstrip("# ") for line in text.split("breeds:")[1].splitlines() if line.strip().startswith("#"))
    assert "REVIEW: are these names of people (name)? Names of people are never copied: pool: {rows: 20}" in asked


# --- facts of one's own ---


@pytest.mark.parametrize(
    "child",
    [
        animals(),
        animals("sex string, bought_on date"),
        animals("sex string, call_name string, bought_on date", "stock"),
        animals("sex string, tag string", "herdbook"),
        animals("sexe string, date_naissance date, achat date", "enfants"),
    ],
    ids=lambda child: f"{child.name} {child.columns[-1].name}",
)
def test_what_lives_under_somebody_has_a_sex_of_its_own(child: ReflectedTable) -> None:
    columns = drafted(OWNERS, BREEDS, child, entity="owners").tables[child.name].columns
    assert [name for name, described in columns.items() if described.same_for is not None] == []


def test_a_pets_sex_is_no_copy_of_its_owners() -> None:
    owners = table("owners", "id integer, sex string, birth_date date", key="id")
    pets = table("pets", "id integer, owner_id integer, sex string, birth_date date", key="id", refers=TO_OWNER)
    columns = drafted(owners, pets).tables["pets"].columns
    assert (columns["sex"].determined, columns["birth_date"].determined) == (None, None)


def test_a_fact_in_every_visit_is_the_animals_not_the_owners() -> None:
    visits = table(
        "visits",
        "id integer, animal_id integer, visited_at datetime, sex string",
        key="id",
        refers={"animal_id": "animals.id"},
    )
    schema = drafted(BREEDS, OWNERS, animals("weight number"), visits)
    assert schema.tables["visits"].columns["sex"].same_for == "parent"
    tests = table("tests", "id integer, visit_id integer, at datetime, sex string", key="id", refers={"visit_id": "visits.id"})
    visits = table("visits", "id integer, animal_id integer, visited_at datetime", key="id", refers={"animal_id": "animals.id"})
    schema = drafted(BREEDS, OWNERS, animals("weight number"), visits, tests)
    assert schema.tables["tests"].columns["sex"].same_for == "animals"


# --- who is protected ---


def test_owners_are_people_and_breeds_are_a_code() -> None:
    schema = practice()
    assert schema.entity == "owners"
    assert schema.tables["breeds"].public
    assert [schema.parent_name(name) for name in ("animals", "visits", "vaccinations")] == ["owners", "animals", "animals"]


@pytest.mark.parametrize(
    "people",
    [
        "eleves", "élèves", "clientes", "assurés", "schueler", "Schüler", "versicherte", "kunden", "pazienti", "alunos",
        "leerlingen", "medlemmer", "donors", "residents", "inmates", "players", "guests", "tenants", "subscribers", "insured",
        "socios",
    ],
)  # fmt: skip
def test_people_are_called_in_many_languages(people: str) -> None:
    codes = table("aaa_codes_of_things", "id integer, label string", key="id")
    events = table(
        "events",
        "id integer, who integer, what integer",
        key="id",
        refers={"who": f"{people}.id", "what": "aaa_codes_of_things.id"},
    )
    assert drafted(codes, table(people, "id integer, x string", key="id"), events).entity == people


def test_whoever_is_described_as_a_person_is_found_by_structure_alone() -> None:
    """No name is known, and the code table is what as many tables lead to."""
    keepers = table(
        "keepers", "id integer, vorname string, geburtsdatum date, town_id integer", key="id", refers={"town_id": "towns.id"}
    )
    towns = table("towns", "id integer, label string", key="id")
    beasts = table("beasts", "id integer, keeper integer, kind integer", key="id", refers={"keeper": "keepers", "kind": "kinds"})
    kinds = table("kinds", "id integer, label string", key="id")
    calls = table("calls", "id integer, beast integer, at datetime", key="id", refers={"beast": "beasts"})
    assert drafted(kinds, towns, calls, beasts, keepers).entity == "keepers"


def test_candidates_begin_with_who_is_described_and_leave_codes_out() -> None:
    kinds = table("kinds", "id integer, label string", key="id")
    things = table("things", "id integer, kind integer, note string, x number", key="id", refers={"kind": "kinds.id"})
    keepers = table("keepers", "id integer, phone string, x number, y number", key="id")
    uses = table("uses", "id integer, thing integer", key="id", refers={"thing": "things.id"})
    visits = table("visits", "id integer, keeper integer", key="id", refers={"keeper": "keepers.id"})
    text = written(kinds, things, keepers, uses, visits)
    candidates = next(line for line in text.splitlines() if line.startswith("# Candidates"))
    assert candidates.index("keepers") < candidates.index("things")
    assert "kinds" not in candidates


# --- strict ---


def test_two_vaccines_may_be_given_on_one_day() -> None:
    shots = practice().tables["vaccinations"]
    assert shots.key == ("animal_id", "vaccine", "given_on")
    assert not shots.columns["given_on"].strict  # type: ignore[union-attr]


# --- a folder without keys ---

PUPILS = table("eleves", "matricule unknown?, nom unknown?, date_naissance unknown?, classe unknown?")
MARKS = table("notes", "matricule unknown?, matiere unknown?, date unknown?, note unknown?")
ABSENCES = table("absences", "id_absence unknown?, matricule unknown?, date_absence unknown?")
CLASSES = table("classes", "classe unknown?, niveau unknown?")


@pytest.mark.parametrize("entity", [None, "eleves"])
def test_the_column_that_the_other_files_hold_too_is_the_key_of_the_people(entity: str | None) -> None:
    schema = drafted(PUPILS, MARKS, ABSENCES, CLASSES, entity=entity)
    assert schema.entity == "eleves"
    assert schema.tables["eleves"].key == ("matricule",)
    assert [schema.parent_name(name) for name in ("notes", "absences")] == ["eleves", "eleves"]
    assert not schema.tables["absences"].ignore


def test_a_table_that_was_asked_for_need_not_be_called_after_people() -> None:
    cohort = table("cohort", "weight number?, code_nhs string?, city string?")
    tests = table("tests", "code_nhs string?, city string?, value number?")
    scans = table("scans", "code_nhs string?, value number?")
    assert drafted(cohort, tests, scans, entity="cohort").tables["cohort"].key == ("code_nhs",)


def test_where_nothing_leads_to_who_was_asked_for_the_draft_says_what_is_left_out_and_what_to_write() -> None:
    pupils = table("eleves", "numero string?, nom string?")
    marks = table("notes", "eleve_no string?, note number?")
    text = written(pupils, marks, entity="eleves")
    said = comment_on(text, "entity: eleves")
    assert "REVIEW: no other table leads to eleves, so notes is left out" in said
    assert "--entity eleves.COLUMN" in said


# --- dates of birth, flags ---


@pytest.mark.parametrize(
    "name",
    [
        "geburtsdatum", "date_naissance", "fecha_nacimiento", "data_nascita", "geboortedatum", "data_nascimento", "fodselsdato",
        "Fødselsdato", "födelsedatum", "born", "nascimento", "data_urodzenia",
    ],
)  # fmt: skip
def test_a_birth_has_public_bounds_in_any_language(name: str) -> None:
    people = table("patients", f"id integer, {name} date", key="id")
    described = drafted(people, facts=SIX_YEARS).tables["patients"].columns[name]
    assert (described.min.year, described.max.year) == (1900, 2024)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["geburtsdatum", "fecha_nacimiento", "fodselsdato"])
def test_a_date_of_birth_in_a_text_is_a_date(name: str) -> None:
    people = table("patients", f"id integer, {name} string", key="id")
    assert drafted(people, facts=SIX_YEARS).tables["patients"].columns[name].type == "date"


@pytest.mark.parametrize(
    ("text", "catalogue"),
    [
        ("is_x integer", {}),
        ("has_x number", {}),
        ("x_flag integer", {"min": 0}),
        ("ist_aktiv integer", {}),
        ("x integer", {"sql_type": "TINYINT(1)"}),
        ("x integer", {"sql_type": "tinyint(1) unsigned"}),
        ("x integer", {"sql_type": "BIT"}),
        ("x unknown", {"sql_type": "BIT(1)"}),
    ],
)
def test_a_flag_is_no_number_to_learn(text: str, catalogue: dict[str, object]) -> None:
    name = text.split()[0]
    people = table("patients", f"id integer, {text}", key="id", **{name: catalogue})
    described = drafted(people).tables["patients"].columns[name]
    assert (described.type, described.true, described.false) == ("boolean", 1, 0)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "catalogue"),
    [
        ("x_flag integer", {"min": 1, "max": 5}),
        ("x integer", {"sql_type": "TINYINT(4)"}),
        ("female_count integer", {}),
        ("indicator number", {}),
    ],
)
def test_what_may_be_more_than_one_is_no_flag(text: str, catalogue: dict[str, object]) -> None:
    name = text.split()[0]
    people = table("patients", f"id integer, {text}", key="id", **{name: catalogue})
    assert drafted(people).tables["patients"].columns[name].type == text.split()[1]


# --- several rows at the same time ---


def measured(when: str) -> ReflectedTable:
    return table("labs", f"id integer, owner_id integer, {when}, test string, value number", key="id", refers=TO_OWNER)


def test_what_is_measured_together_stands_together() -> None:
    labs = table(
        "labs", "id integer, pid integer, taken datetime, test string, value number", key="id", refers={"pid": "owners.id"}
    )
    described = drafted(OWNERS, labs, facts=SIX_YEARS).tables["labs"]
    assert described.parent is not None
    assert described.parent.order_by == ("taken", "test")
    assert described.columns["taken"].after == "previous.taken"  # type: ignore[union-attr]


@pytest.mark.parametrize(("facts", "most"), [(SIX_YEARS, 2191), (NOTHING_KNOWN, 43830)])
def test_days_that_count_from_a_beginning_follow_each_other(facts: PublicFacts, most: int) -> None:
    labs = table(
        "labs", "id integer, pid integer, days integer, test string, value number", key="id", refers={"pid": "owners.id"}
    )
    described = drafted(OWNERS, labs, facts=facts).tables["labs"].columns["days"]
    assert isinstance(described, Integer)
    assert (described.after, described.within, described.learn) == ("previous.days", 2 * most, False)
    assert (described.min, described.max, described.first) == (-most, most, FirstValue(min=-most, max=most))


def rows(name: str, columns: str, **refers: str) -> ReflectedTable:
    """A table with a key of its own, and references by table."""
    led = "".join(f", {column} integer" for column in refers)
    return table(name, f"id integer, {columns}{led}", key="id", refers={column: f"{to}.id" for column, to in refers.items()})


PARCELS = (
    rows("users", "plan string, credits integer, district string"),
    rows("recipients", "floor integer, zone string"),
    rows("logins", "at datetime", user_id="users"),
    rows("searches", "words integer", user_id="users"),
    rows("parcels", "weight number", user_id="users", recipient_id="recipients"),
)
TRIPS = (
    rows("driver", "plan string, rating number"),
    rows("visitor", "origin string"),
    rows("trips", "km number", driver_id="driver", visitor_id="visitor"),
    rows("fines", "points integer", driver_id="driver"),
)
MOTHERS = (
    rows("mothers", "height number"),
    rows("patients", "sex string, weight number", mother_id="mothers"),
    rows("visits", "at datetime", patient_id="patients"),
)
TICKETS = (
    rows("passengers", "sex string"),
    rows("owners", "district string"),
    rows("tickets", "price number", passenger_id="passengers", owner_id="owners"),
)
GUARDIANS = (
    rows("eleve", "classe string"),
    rows("responsable", "revenu number, commune string"),
    rows("note", "valeur number", id_eleve="eleve", id_responsable="responsable"),
)
BIRTHS = (
    rows("patient", "sex string"),
    rows("child", "weight number, apgar integer"),
    rows("birth", "at datetime", patient_id="patient", child_id="child"),
)


@pytest.mark.parametrize("world", [PARCELS, TRIPS, MOTHERS, TICKETS, GUARDIANS, BIRTHS], ids=lambda world: world[0].name)
def test_people_are_never_copied(world: tuple[ReflectedTable, ...]) -> None:
    """Whoever the entity is: what is called after people, or describes them, is never public in a draft."""
    schema = drafted(*world)
    assert [name for name, described in schema.tables.items() if described.public] == []


def test_the_people_whom_most_leads_to_are_the_entity() -> None:
    assert drafted(*PARCELS).entity_name == "users"
    staff_logins = (rows("users", "login string"), rows("patients", "sex string", user_id="users"))
    stays = [rows(name, "at datetime", patient_id="patients", user_id="users") for name in ("stays", "labs", "notes")]
    assert drafted(*staff_logins, *stays).entity_name == "patients", "a login stands beside the people themselves"

"""Names of clinical trials, spelled out: SDTM and ADaM (CDISC) write `AESTDTC` for the start date of an adverse event.

They have eight letters at most, and mean the same everywhere: two letters of a domain, and an ending of a public list.
"""

from __future__ import annotations

_DOMAINS = frozenset(
    (
        "ae", "ag", "be", "bs", "ce", "cm", "co", "cp", "cv", "da", "dd", "dm", "ds", "dv", "ec", "eg", "er", "ex", "fa", "ft",
        "gf", "ho", "ie", "is", "lb", "mb", "mh", "mi", "mk", "ml", "ms", "nv", "oe", "pc", "pe", "pp", "pr", "qs", "rp", "rs",
        "sc", "se", "sm", "sr", "ss", "su", "sv", "tr", "tu", "ur", "vs",
    )
)  # fmt: skip
_ENDINGS = {
    "seq": "seq", "spid": "sponsor id", "grpid": "group id", "refid": "reference id",
    "test": "test", "testcd": "test code", "decod": "decoded term", "bodsys": "organ class", "bdsycd": "organ class code",
    "lltcd": "llt code", "ptcd": "pt code", "hltcd": "hlt code", "hlgtcd": "hlgt code", "soccd": "soc code",
    "orres": "original value", "stresn": "standard value", "stresc": "standard result",
    "orresu": "original unit", "stresu": "standard unit", "nrind": "range indicator", "blfl": "baseline flag",
    "ornrlo": "original range low", "ornrhi": "original range high", "stnrlo": "range low", "stnrhi": "range high",
    "dtc": "date", "stdtc": "start date", "endtc": "end date", "dy": "day", "stdy": "start day", "endy": "end day",
}  # fmt: skip
"""What stands behind the two letters of a domain."""
_WHOLE = {
    "studyid": "study id", "siteid": "site id", "usubjid": "unique subject id", "subjid": "subject id", "brthdtc": "birth date",
    "brthdt": "birth date", "dthdtc": "death date", "dthdt": "death date", "dthfl": "death flag", "armcd": "arm code",
    "actarmcd": "actual arm code", "actarm": "actual arm", "rfstdtc": "reference start date", "rfendtc": "reference end date",
    "rfxstdtc": "exposure start date", "rfxendtc": "exposure end date", "rficdtc": "consent date",
    "rfpendtc": "participation end date", "mhstdtc": "since date",
    "visitnum": "planned visit code", "visitdy": "visit day", "avisitn": "visit code",
    "avisit": "visit", "param": "parameter", "paramcd": "parameter code", "paramn": "parameter number", "aval": "value",
    "astdt": "start date", "aendt": "end date", "astdy": "start day",
    "aendy": "end day", "trtsdt": "treatment start date", "trtedt": "treatment end date",
}  # fmt: skip
"""What stands in many tables."""


def spelled_out(name: str) -> str:
    """The words of such a name; any other name as it is. Which domain it is of stands in the table's name too."""
    folded = name.casefold()
    if folded[:2] in _DOMAINS and folded[2:] in _ENDINGS:
        return _ENDINGS[folded[2:]]
    return _WHOLE.get(folded, name)

"""What a rule file may hold, as pydantic models; their JSON Schema is published with the rules."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

Scalar = str | int | float | bool | None
Versions = dict[str, str]
# Without a word it would be found in every line of a log.
Words = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """Base of all: a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FactDeclaration(Strict):
    """A fact that rules may read or set."""

    type: Literal["int", "float", "str", "bool", "version", "list", "set", "map", "any"]
    doc: str = ""
    values: list[Scalar] = Field(
        default=[], description="all values it may have; a comparison with another is an error"
    )
    config: list[str] = Field(
        default=[],
        description="paths into the model's config.json, the first one present is taken; `text.` is "
        "the language model's part of it, the whole where it has no parts",
    )
    default: Scalar = Field(
        default=None, description="value when nobody supplies one (environment variables)"
    )


class TableVersion(Strict):
    """One version range of a table."""

    versions: Versions = {}
    values: list[Any] | dict[str, Any]


class DeriveVersion(Strict):
    """One version range of a derived fact."""

    versions: Versions = {}
    value: str


class SourceReference(Strict):
    """Where in the engine's package the behaviour stands."""

    file: str
    symbol: str = Field(default="", description="function or class; several with commas between")
    versions: Versions = {}
    note: str = ""


class RemedyRule(Strict):
    """One way out of a finding; exactly one of edit, upgrade, hardware and none."""

    edit: dict[str, Scalar | list[Scalar]] | None = Field(
        default=None, description="argument to its new value, or `unset`"
    )
    upgrade: Versions | None = None
    hardware: str | None = None
    none: str | None = Field(default=None, description="why there is no way out")
    when: str | None = None
    versions: Versions = {}
    cost: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> RemedyRule:
        kinds = [kind for kind in ("edit", "upgrade", "hardware", "none") if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError("a remedy is exactly one of edit, upgrade, hardware, none")
        return self


class TestRow(Strict):
    """A launch line with its target, as in a cases file."""

    __test__ = False  # not a pytest class

    version: str
    args: str | list[str]
    model: str | None = None
    config: dict[str, Any] | None = Field(
        default=None, description="config.json of a model that the catalogue lacks"
    )
    gpu: str | None = None
    gpu_count: int | None = Field(default=None, description="GPUs of one node")
    nodes: int | None = None
    flashinfer: str | None = Field(
        default="pin", description="`pin`: what the engine version pins; null: not installed"
    )
    env: dict[str, str] = {}
    packages: dict[str, str | None] = Field(
        default={}, description="versions of other packages, such as sglang_kernel"
    )


class Tests(Strict):
    """Launch lines on which the rule must fire, and on which it must not."""

    __test__ = False  # not a pytest class

    fails: list[TestRow] = []
    passes: list[TestRow] = []
    undecided: list[TestRow] = Field(
        default=[], description="rows on which it waits for facts that no row can give"
    )


class FindRule(Strict):
    """A finding."""

    id: Annotated[str, Field(pattern=r"^[A-Z]{3}[0-9]{3}$")]
    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    title: str
    versions: Versions = {}
    phase: Literal[
        "argparse",
        "resolve",
        "topology",
        "environment",
        "backend-factory",
        "backend-init",
        "first-decode",
        "silent",
    ]
    for_each: list[Literal["target", "draft"]] | None = None
    when: str
    level: Literal["error", "warning", "info"]
    message: str
    engine_says: Words | list[Words] | None = None
    crash: bool = Field(
        default=False, description="the words are Python's or a library's; no guard of the engine's"
    )
    known_only: bool = Field(
        default=False, description="a value that the line does not settle is not waited for"
    )
    remedies: list[RemedyRule] = []
    source: SourceReference | list[SourceReference] | None = None
    explain: str = ""
    confirm: str = ""
    evidence: list[str] = []
    tests: Tests = Tests()

    @property
    def engine_words(self) -> tuple[str, ...]:
        """Give what the engine may say, however many ways the file writes it."""
        return (self.engine_says,) if isinstance(self.engine_says, str) else tuple(self.engine_says or ())


class Case(Strict):
    """One arm of a decision table."""

    when: str | None = None
    set: dict[str, Any]
    title: str | None = None


class SetRule(Strict):
    """A default or an override of the engine's."""

    id: Annotated[str, Field(pattern=r"^[A-Z]{3}[0-9]{3}$")] | None = None
    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    title: str = ""
    versions: Versions = {}
    when: str | None = None
    level: Literal["warning", "info"] | None = None
    message: str = Field(
        default="", description="a finding of this level when the rule changes something; needs an id"
    )
    set: dict[str, Any] | None = None
    cases: list[Case] | None = None
    source: SourceReference | list[SourceReference] | None = None
    evidence: list[str] = []

    @model_validator(mode="after")
    def _one_form(self) -> SetRule:
        if (self.set is None) == (self.cases is None):
            raise ValueError("exactly one of set and cases is needed")
        if (self.level is None) != (not self.message) or (self.message and self.id is None):
            raise ValueError("level, message and id go together")
        return self


class Candidates(Strict):
    """Candidates in the engine's order, under a condition; the first alternative that holds is taken."""

    when: str | None = None
    versions: Versions = {}
    values: list[str]
    title: str | None = None


class Reason(Strict):
    """Why a candidate is refused; `candidate.X` is its trait X in the rule's table."""

    when: str
    say: str
    versions: Versions = {}


class ChooseRule(Strict):
    """A choice of the first candidate that nothing refuses, or of the one that the user names.

    For the fact F that it sets, rules may read F.refused.NAME and F.reasons.NAME of a candidate,
    F.named_refused and F.named_reasons of the named one, and F.reasons of all.
    """

    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    title: str = ""
    versions: Versions = {}
    for_each: list[Literal["target", "draft"]] | None = None
    when: str | None = None
    choose: str = ""
    like: str | None = Field(default=None, description="slug of a rule to repeat here for another runner")
    named: str | None = Field(default=None, description="fact with the candidate that the user names")
    named_title: str | None = None
    among: list[Candidates] = []
    traits: str = Field(default="", description="table with the traits of each candidate")
    reasons: list[Reason] = []
    source: SourceReference | list[SourceReference] | None = None
    id: None = None

    @model_validator(mode="after")
    def _whole(self) -> ChooseRule:
        if (self.like is None) != bool(self.choose and self.traits and self.among):
            raise ValueError("needs choose, traits and among, or like alone")
        return self


def _kind(rule: object) -> str:
    """Tell the kinds of rule apart before validation, so that errors are about the right one."""
    if isinstance(rule, dict):
        if "choose" in rule or "like" in rule:
            return "choose"
        return "set" if "set" in rule or "cases" in rule else "find"
    if isinstance(rule, ChooseRule):
        return "choose"
    return "set" if isinstance(rule, SetRule) else "find"


Rule = Annotated[
    Annotated[FindRule, Tag("find")] | Annotated[SetRule, Tag("set")] | Annotated[ChooseRule, Tag("choose")],
    Discriminator(_kind),
]


class RuleFile(Strict):
    """One rule file: one subject."""

    subject: str
    facts: dict[str, FactDeclaration] = {}
    tables: dict[str, list[TableVersion]] = {}
    derive: dict[str, str | list[DeriveVersion]] = {}
    rules: list[Rule] = []


class ProgramFile(Strict):
    """The order of an engine's rule files, and what reports show of its resolved values."""

    engine: str
    files: list[str]
    model: str = Field(description="the argument that names the model")
    draft: str = Field(description="expression over the arguments for the draft model's name")
    overrides: str = Field(
        default="None", description="expression for what the line changes in the models' configs, JSON"
    )
    overrides_keep: str = Field(
        default="[]",
        description="expression for the parts of a config that keep what overrides do not name, dotted paths",
    )
    resolved: list[str] = []
    about: list[str] = Field(
        default=[], description="facts by whose values the inventory's guards say what they are about"
    )
    worlds: list[dict[str, Scalar]] = Field(
        default=[], description="sets of facts to try in turn when nobody supplied the first of them"
    )
    read_at: dict[str, str] = Field(
        default={},
        description="arguments that the parser lets through, and the slugs of the rules that read them",
    )
    inert: list[str] = Field(
        default=[], description="arguments that can neither keep the engine from starting nor change decode"
    )

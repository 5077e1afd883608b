"""Value classes, declared like dataclasses.

The standard decorator compiles up to six functions for each class, half a millisecond; the eighty classes of
a run would take longer than everything that the run does. Here only `__init__` is compiled, once a class has
many values, and the rest is shared.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        """Tell type checkers that `frozen` makes frozen dataclasses; at run time, nothing."""
        return lambda function: function


T = TypeVar("T")
_set = object.__setattr__
# Values of one class after which compiling its `__init__` costs less than doing without.
_FEW: Final = 30


class _Fresh:
    """A default that is made anew for each value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """Declare a field whose default is made anew for each value."""
    return cast("T", _Fresh(default_factory))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class of the annotated fields: slots, `__init__`, equality, hash, repr, no assignment."""
    names = tuple(inspect.get_annotations(cls))
    namespace = {key: item for key, item in cls.__dict__.items() if key not in _DROPPED and key not in names}
    namespace |= {
        "__slots__": names,
        "__match_args__": names,
        "__eq__": _eq,
        "__hash__": _hash,
        "__repr__": _repr,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__reduce__": _reduce,
    }
    kind: Any = type(cls)
    made = kind(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    _give_init(made, _defaults(cls, names), "_set(self, '{}', {})")
    return cast("type[T]", made)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Give a class an `__init__` of the annotated fields, which may be assigned later."""
    names = tuple(inspect.get_annotations(cls))
    defaults = _defaults(cls, names)
    for name in defaults:
        delattr(cls, name)
    made: Any = cls
    made.__match_args__ = names  # type: ignore[misc]  # which mypy allows in a class body only
    _give_init(made, defaults, "self.{} = {}")
    return cls


def _defaults(cls: type, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: cls.__dict__[name] for name in names if name in cls.__dict__}


def _give_init(cls: Any, defaults: dict[str, Any], assign: str) -> None:
    """Give a class an `__init__` that is compiled once it has many values: most have few in a run."""
    names = cls.__match_args__
    made = 0

    def plain(self: Any, *args: Any, **fields: Any) -> None:
        nonlocal made
        made += 1
        given = {**dict(zip(names, args)), **fields}  # noqa: B905 - counted below
        values = {**defaults, **given}
        fits = len(given) == len(args) + len(fields) and values.keys() == set(names)
        if made > _FEW or not fits:  # what does not fit, the compiled one refuses in Python's own words
            cls.__init__ = _compiled(cls, defaults, assign)
            cls.__init__(self, *args, **fields)
            return
        for name, value in values.items():
            _set(self, name, value.make() if type(value) is _Fresh else value)
        if hasattr(cls, "__post_init__"):
            self.__post_init__()

    cls.__init__ = plain


def _compiled(cls: Any, defaults: dict[str, Any], assign: str) -> Callable[..., None]:
    scope: dict[str, Any] = {"_set": _set, "_missing": _MISSING}
    parameters, body = [], []
    for name in cls.__match_args__:
        given = name
        if name in defaults:
            default = defaults[name]
            if isinstance(default, _Fresh):
                scope[f"_make_{name}"] = default.make
                default = _MISSING
                given = f"_make_{name}() if {name} is _missing else {name}"
            scope[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        body.append(" " + assign.format(name, given))
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    source = f"def __init__(self, {', '.join(parameters)}):\n" + ("\n".join(body) or " pass")
    exec(source, scope)  # noqa: S102 - field names of our own classes only
    init: Callable[..., None] = scope["__init__"]
    return init


def replace(item: T, **changes: Any) -> T:
    """Give a copy of a value with some fields changed."""
    fields = {name: getattr(item, name) for name in item.__match_args__}  # type: ignore[attr-defined]  # made here
    return type(item)(**(fields | changes))


def as_dict(item: object) -> dict[str, Any]:
    """Give the fields of a value, values inside it as dictionaries too."""
    return {name: _plain(getattr(item, name)) for name in item.__match_args__}  # type: ignore[attr-defined]  # same


def _plain(item: Any) -> Any:
    if getattr(type(item), "__setattr__", None) is _refuse:
        return as_dict(item)
    if isinstance(item, tuple | list):
        return type(item)(_plain(each) for each in item)
    if isinstance(item, dict):
        return {key: _plain(each) for key, each in item.items()}
    return item


_MISSING: Any = object()
_DROPPED = frozenset({"__dict__", "__weakref__"})


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be changed")


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), _values(self)

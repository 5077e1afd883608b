"""Value classes, declared like dataclasses.

The standard decorator compiles up to six functions for each class, half a millisecond; the eighty classes of
a run would take longer than everything that the run does. Here only `__init__` is generated, for classes that
are used, and the rest is shared.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        """Tell type checkers that `frozen` makes frozen dataclasses; at run time, nothing."""
        return lambda function: function


T = TypeVar("T")
_set = object.__setattr__


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
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


@dataclass_transform(eq_default=False, field_specifiers=(dataclasses.field,))
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
    """Give a class an `__init__` that is compiled when it is first called: a run needs few of all classes."""
    scope: dict[str, Any] = {"_set": _set, "_missing": _MISSING}
    parameters, body = [], []
    for name in cls.__match_args__:
        given = name
        if name in defaults:
            default = defaults[name]
            if isinstance(default, dataclasses.Field):
                if default.default_factory is not dataclasses.MISSING:
                    scope[f"_make_{name}"] = default.default_factory
                    default = _MISSING
                    given = f"_make_{name}() if {name} is _missing else {name}"
                else:
                    default = default.default
            scope[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        body.append(" " + assign.format(name, given))
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")

    def first(self: Any, *args: Any, **fields: Any) -> None:
        source = f"def __init__(self, {', '.join(parameters)}):\n" + ("\n".join(body) or " pass")
        exec(source, scope)  # noqa: S102 - field names of our own classes only
        cls.__init__ = scope["__init__"]
        cls.__init__(self, *args, **fields)

    cls.__init__ = first


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

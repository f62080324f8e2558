"""What shows itself in a notebook."""


class ShowsItself:
    """Base of the classes of which `rlsuite.plotting.cards` makes a card: what it is in numbers, a table, a figure."""

    def _repr_html_(self) -> str:
        from rlsuite.plotting.cards import html_of  # loads nothing until something is shown

        return html_of(self)

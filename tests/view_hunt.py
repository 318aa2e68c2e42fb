"""How a game of the bug hunt is played in a page."""

from mha_utils import widgets


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def accuse(page, name: str) -> None:
    option = page.locator("optgroup option").filter(has_text=name)
    page.get_by_label("name of the suspect").select_option(option.first.get_attribute("value"))
    press(page, "accuse")


def trait(page, name: str):
    return page.evaluate("(name) => window.model.get(name)", name)


def name_of(view: widgets.BugHunt) -> str:
    return view.pieces[view._piece][0]

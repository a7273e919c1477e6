"""What MkDocs calls while it builds: pages from the code and from beside `docs`, the navigation, links."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from docsite.links import PROJECT_PAGES, ROOT, for_site
from docsite.navigation import navigation
from docsite.reference import generated_pages

_FOREIGN_SCRIPT = "https://unpkg.com/iframe-worker/shim"
_SEARCH = "assets/search-in-a-folder.js"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are generated from the code, and the project's own."""
    for place, text in generated_pages().items():
        files.append(File.generated(config, place, content=text))
    for source, place in PROJECT_PAGES.items():
        text = for_site((ROOT / source).read_text(), source, place)
        files.append(File.generated(config, place, content=text))
    script = (ROOT / "docsite" / _SEARCH).read_text()
    files.append(File.generated(config, _SEARCH, content=script))
    config.nav = navigation([file.src_uri for file in files.documentation_pages()])
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Take the script that lets the search work from a folder from the site itself, and not from another host."""
    return output.replace(_FOREIGN_SCRIPT, f"{'../' * page.url.count('/')}{_SEARCH}")


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The same for pages that are no documents, such as 404."""
    return output.replace(_FOREIGN_SCRIPT, f"/{_SEARCH}")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite the links of a page that is a file of the repository."""
    if page.file.generated_by is not None:
        return markdown
    return for_site(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)

"""Drives the language server with pytest-lsp, as an editor does: from `initialize` to `exit`."""

import os
import subprocess
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

MESHPROBE = os.environ["MESHPROBE"]

MESH = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec:
  mtls:
    mode: STRICT
"""

# The comment makes code units of UTF-16 differ from bytes and from code points.
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations:
        note: '𝄞ü'
    spec:
      containers:
      - name: web
        image: web
        readinessProbe: # 𝄞
          httpGet: {path: /ready, port: 8080}
"""

OPT_OUT = "        sidecar.istio.io/rewriteAppHTTPProbers: 'false'\n"
BROKEN = WEB.replace("    spec:\n", OPT_OUT + "    spec:\n", 1)
# A port in quotes has a safe fix.
QUOTED = WEB.replace("8080", '"8080"')


class Workspace:
    """A folder with manifests, and a client that has opened one of them."""

    def __init__(self, client: LanguageClient, folder: Path):
        self.client = client
        self.folder = folder
        self.version = 0
        self.text = ""

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def document(self, name: str = "web.yaml") -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    async def open(self, text: str, name: str = "web.yaml"):
        """Opens a document with a text that is not saved, and waits for its diagnostics."""
        self.text, self.version = text, 1
        item = types.TextDocumentItem(self.uri(name), "yaml", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.diagnostics(name)

    async def replace(self, old: str, new: str):
        """Replaces a part of the document by an incremental change, and waits for its diagnostics."""
        self.version += 1
        span = types.Range(self.position(old), self.position(old, after=True))
        change = types.TextDocumentContentChangePartial(range=span, text=new)
        identifier = types.VersionedTextDocumentIdentifier(self.version, self.uri("web.yaml"))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        self.text = self.text.replace(old, new, 1)
        return await self.diagnostics()

    async def diagnostics(self, name: str = "web.yaml"):
        """Requests the diagnostics of the present text, as VS Code does. None of them is published as well."""
        params = types.DocumentDiagnosticParams(self.document(name))
        report = await self.client.text_document_diagnostic_async(params)
        assert report.kind == "full"
        assert not self.client.diagnostics.get(self.uri(name))
        return report.items

    def position(self, part: str, text: str | None = None, *, after: bool = False) -> types.Position:
        before = (text or self.text).split(part)[0] + (part if after else "")
        line = before.rsplit("\n", 1)[-1]
        return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    async def actions(self, part: str):
        at = self.position(part)
        context = types.CodeActionContext(diagnostics=[])
        params = types.CodeActionParams(self.document(), types.Range(at, at), context)
        return await self.client.text_document_code_action_async(params)

    def apply(self, edits) -> str:
        """Returns the text after edits."""
        lines = self.text.split("\n")

        def offset(at: types.Position) -> int:
            units = lines[at.line].encode("utf-16-le")[: 2 * at.character]
            return sum(len(line) + 1 for line in lines[: at.line]) + len(units.decode("utf-16-le"))

        text = self.text
        for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
            text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
        return text


def capabilities() -> types.ClientCapabilities:
    """Returns the capabilities of VS Code, with those of later versions that pytest-lsp does not know."""
    known = client_capabilities("visual-studio-code")
    known.text_document.diagnostic = types.DiagnosticClientCapabilities()
    known.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    return known


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[MESHPROBE, "lsp"]))
async def client(lsp_client: LanguageClient, tmp_path: Path):
    # Requests of the server that the client has no answer to.
    for method in (
        types.CLIENT_REGISTER_CAPABILITY,
        types.WORKSPACE_CODE_LENS_REFRESH,
        types.WORKSPACE_INLAY_HINT_REFRESH,
    ):
        lsp_client.feature(method)(lambda *_: None)
    (tmp_path / "mesh.yaml").write_text(MESH)
    (tmp_path / "web.yaml").write_text(BROKEN)
    folder = types.WorkspaceFolder(tmp_path.as_uri(), "shop")
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities(),
            workspace_folders=[folder],
        )
    )
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def workspace(client: LanguageClient, tmp_path: Path) -> Workspace:
    return Workspace(client, tmp_path)


def codes(diagnostics):
    return sorted({diagnostic.code for diagnostic in diagnostics})


async def test_diagnostics_follow_unsaved_edits(workspace: Workspace):
    found = await workspace.open(BROKEN)
    assert "strict-probe-not-rewritten" in codes(found)
    strict = next(item for item in found if item.code == "strict-probe-not-rewritten")
    assert strict.severity == types.DiagnosticSeverity.Error
    assert strict.source == "meshprobe"
    linked = {related.location.uri for related in strict.related_information}
    assert workspace.uri("mesh.yaml") in linked
    found = await workspace.replace(OPT_OUT, "")
    assert "strict-probe-not-rewritten" not in codes(found)


async def test_diagnostics_of_closed_files_are_published(workspace: Workspace):
    await workspace.open(BROKEN)
    assert workspace.client.diagnostics[workspace.uri("mesh.yaml")]


async def test_half_typed_text_has_only_its_errors_until_it_is_valid(workspace: Workspace):
    await workspace.open(BROKEN)
    found = await workspace.replace("  namespace: shop\n", "  namespace: shop\n  labels: {a: [\n")
    assert set(codes(found)) == {"syntax-error"}
    params = types.HoverParams(workspace.document(), workspace.position("readinessProbe"))
    assert await workspace.client.text_document_hover_async(params) is None
    found = await workspace.replace("labels: {a: [", "labels: {a: b}")
    assert "strict-probe-not-rewritten" in codes(found)


async def test_a_fix_writes_what_check_writes(workspace: Workspace):
    (workspace.folder / "web.yaml").write_text(QUOTED)
    await workspace.open(QUOTED)
    actions = await workspace.actions('"8080"')
    fix = next(action for action in actions if action.is_preferred)
    assert fix.kind == types.CodeActionKind.QuickFix
    if fix.edit is None:
        fix = await workspace.client.code_action_resolve_async(fix)
    (change,) = fix.edit.document_changes
    fixed = workspace.apply(change.edits)
    subprocess.run([MESHPROBE, "check", "--fix", "."], cwd=workspace.folder, check=False, capture_output=True)
    assert fixed == (workspace.folder / "web.yaml").read_text()
    assert fixed != QUOTED


async def test_hover_explains_a_probe_and_a_policy(workspace: Workspace):
    await workspace.open(BROKEN)
    params = types.HoverParams(workspace.document(), workspace.position("readinessProbe"))
    hover = await workspace.client.text_document_hover_async(params)
    assert hover.contents.kind == types.MarkupKind.Markdown
    assert "**fails**" in hover.contents.value
    assert "STRICT for namespace `shop`" in hover.contents.value
    params = types.HoverParams(workspace.document("mesh.yaml"), workspace.position("STRICT", MESH))
    hover = await workspace.client.text_document_hover_async(params)
    assert "**breaks 1**" in hover.contents.value


async def test_hints_and_lenses_show_outcomes(workspace: Workspace):
    await workspace.open(WEB)
    whole = types.Range(types.Position(0, 0), types.Position(99, 0))
    params = types.InlayHintParams(workspace.document(), whole)
    (hint,) = await workspace.client.text_document_inlay_hint_async(params)
    assert hint.label == "→ :15020/app-health/web/readyz  ok"
    assert hint.position == workspace.position("readinessProbe: # 𝄞", after=True)
    (lens,) = await workspace.client.text_document_code_lens_async(types.CodeLensParams(workspace.document()))
    assert lens.command.title == "web: readinessProbe ok"


async def test_definition_and_references_connect_probes_and_policies(workspace: Workspace):
    await workspace.open(BROKEN)
    params = types.DefinitionParams(workspace.document(), workspace.position("readinessProbe"))
    found = await workspace.client.text_document_definition_async(params)
    policy = types.Position(9, 4)
    assert any(
        item.uri == workspace.uri("mesh.yaml") and item.range.start.line == policy.line for item in found
    )
    params = types.ReferenceParams(
        types.ReferenceContext(include_declaration=False), workspace.document("mesh.yaml"), policy
    )
    (probe,) = await workspace.client.text_document_references_async(params)
    assert probe.uri == workspace.uri("web.yaml")
    assert probe.range.start == workspace.position("readinessProbe")


async def test_completion_works_in_half_typed_text(workspace: Workspace):
    typed = "        note: '𝄞ü'\n        sidecar.istio.io/rew"
    half = WEB.replace("        note: '𝄞ü'", typed)
    await workspace.open(half)
    at = workspace.position(typed, after=True)
    params = types.CompletionParams(workspace.document(), at)
    items = await workspace.client.text_document_completion_async(params)
    name = "sidecar.istio.io/rewriteAppHTTPProbers"
    item = next(item for item in items if item.label == name)
    assert workspace.apply([item.text_edit]) == half.replace("sidecar.istio.io/rew\n", f"{name}: \n")
    assert item.documentation.kind == types.MarkupKind.Markdown

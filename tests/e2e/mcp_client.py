"""Uses the server with the official client, in both kinds of session: MESHPROBE TREE DIFF."""

import asyncio
import sys
from pathlib import Path

import jsonschema
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

program, tree, diff = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]).read_text()
TOOLS = ["check", "predict", "explain_rule", "explain_symptom", "what_if", "propose_fix"]


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri=tree.as_uri(), name="tree")])


def connect(mode):
    server = StdioServerParameters(command=program, args=["mcp"], cwd="/")
    return Client(stdio_client(server), mode=mode, list_roots_callback=roots)


class Session:
    """Calls tools, and compares each answer with the schema of its tool."""

    def __init__(self, client, tools):
        self.client = client
        self.schemas = {tool.name: tool.output_schema for tool in tools}

    async def ask(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content[0].text
        jsonschema.validate(result.structured_content, self.schemas[tool])
        for content in (result.content[0].text, str(result.structured_content)):
            assert len(content) < 16_000, f"{tool}: {len(content)} characters"
        return result.structured_content

    async def refused(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        return result.content[0].text


async def lists(client):
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        assert tool.annotations.read_only_hint and tool.annotations.open_world_hint is False, tool.name
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    resources, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        resources += page.resources
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len({resource.uri for resource in resources}) == len(resources) > 100
    page = await client.read_resource("meshprobe://rules/strict-probe-not-rewritten")
    assert page.contents[0].text.startswith("# strict-probe-not-rewritten")
    templates = await client.list_resource_templates()
    uris = [template.uri_template for template in templates.resource_templates]
    assert uris == ["meshprobe://rules/{id}", "meshprobe://symptoms/{id}"], uris
    print(f"{len(tools)} tools and {len(resources)} resources are listed")
    return tools


async def explains(session):
    answer = await session.ask("check", paths=["apps/web.yaml"])
    (finding,) = answer["findings"]
    assert finding["rule"] == "strict-probe-not-rewritten"
    assert finding["outcome"] == "fails" and finding["certainty"] == "known"
    assert finding["kubelet"].endswith("connection reset by peer"), finding["kubelet"]
    lines = [fact["at"] for fact in finding["because"]]
    assert lines == ["apps/web.yaml:18", "mesh/mtls.yaml:8", "apps/web.yaml:6"], lines
    explained = await session.ask("explain_rule", rule=finding["rule"])
    assert "connection reset by peer" in explained["page"]
    symptom = await session.ask("explain_symptom", text=finding["kubelet"])
    assert finding["rule"] in symptom["rules"], symptom["rules"]
    predicted = await session.ask("predict", workload="shop/Deployment/web")
    assert predicted["outcomes"] == {"fails": 1}
    print("a probe that is not rewritten under STRICT is explained, with its lines")


async def refuses(session):
    outside = tree.parent / "secret" / "web.yaml"
    for path in [
        "../secret/web.yaml",
        "apps/../../secret/web.yaml",
        str(outside),
        outside.as_uri(),
        f"{tree.as_uri()}/%2e%2e/secret/web.yaml",
        "outside/web.yaml",
        "apps/link.yaml",
        "/etc/passwd",
    ]:
        text = await session.refused("check", paths=[path])
        assert "outside of the roots" in text, text
    answer = await session.ask("check")
    assert "secret" not in str(answer)
    print("paths outside of the roots are refused")


async def pages(session):
    found, cursor = [], None
    while True:
        answer = await session.ask("check", limit=15, **({"cursor": cursor} if cursor else {}))
        found += [finding["at"] for finding in answer["findings"]]
        cursor = answer.get("next_cursor")
        if cursor is None:
            break
    # 41 probes, and the link that leads outside.
    assert len(set(found)) == len(found) == answer["summary"]["errors"] + 1 == 42, found
    assert "apps/link.yaml" in found, found
    print(f"{len(found)} findings are divided into pages")


async def proposes(session):
    parts, cursor = [], None
    while True:
        answer = await session.ask("propose_fix", **({"cursor": cursor} if cursor else {}))
        parts.append(answer["diff"])
        cursor = answer.get("next_cursor")
        if cursor is None:
            break
    assert "".join(parts) == diff and diff, "the proposal differs from check --diff"
    answer = await session.ask("what_if", to=["mtls=PERMISSIVE"], paths=["apps/web.yaml"])
    (change,) = answer["changes"]
    assert change["class"] == "improvement", change
    assert (change["before"]["outcome"], change["after"]["outcome"]) == ("fails", "ok")
    print(f"the proposed fix in {len(parts)} parts equals check --diff; what_if names the change")


async def main():
    for mode in ("legacy", "auto"):
        async with connect(mode) as client:
            print(f"protocol {client.protocol_version}")
            session = Session(client, await lists(client))
            await explains(session)
            await refuses(session)
            await pages(session)
            await proposes(session)
            texts = await asyncio.gather(*(session.ask("predict", limit=1) for _ in range(8)))
            assert all(text == texts[0] for text in texts)


asyncio.run(main())

import { type HostModule, waiting } from './module.ts'

/** `aip.mcp`. Ours beyond AIPack. */
export const mcpModule: HostModule = {
  name: 'aip.mcp',
  functions: {
    /**
     * `aip.mcp.call(server, tool, args?) → {text, content, structured?, is_error}`
     * Calls a tool of an MCP server by the name that the server gives it. `content` is what it gave, with the names of the protocol
     * (`{type = "text", text = …}`, `{type = "image", data = …, mimeType = …}`), `text` its texts joined by line feeds,
     * `structured` a table where the tool gives one. A tool that failed says so in `is_error`; a server that cannot be
     * started, or does not answer, is an error.
     */
    call: waiting(async (call) => (await import('./mcp-calls.ts')).callServer(call), { tables: 'data' }),

    /**
     * `aip.mcp.list(server?) → {server, name, tool, description?, input, output?, read_only?}[]`
     * The tools of an MCP server, or of all that are configured: `tool` is what the server calls it, `name` what models do, `input` and
     * `output` are JSON Schemas.
     */
    list: waiting(async (call) => (await import('./mcp-calls.ts')).listTools(call)),
  },
}

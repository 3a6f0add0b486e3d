import { type HostModule, waiting } from './module.ts'

/** `aip.mcp`. Baton's extension to AIPack. */
export const mcpModule: HostModule = {
  name: 'aip.mcp',
  functions: {
    /**
     * `aip.mcp.call(server, tool, args?) → {text, content, structured?, is_error}`
     * Calls a tool of an MCP server by the server's own name for it. `content` is the result with the field names of
     * the protocol (`{type = "text", text = …}`, `{type = "image", data = …, mimeType = …}`), `text` its texts joined
     * by newlines, `structured` a table if the tool returns one. `is_error` is true if the tool failed; it is an error
     * if the server cannot be started or does not answer.
     */
    call: waiting(async (call) => (await import('./mcp-calls.ts')).callServer(call), { tables: 'data' }),

    /**
     * `aip.mcp.list(server?) → {server, name, tool, description?, input, output?, read_only?}[]`
     * The tools of one MCP server, or of all configured servers: `tool` is the server's name for the tool, `name` the
     * name that models use; `input` and `output` are JSON Schemas.
     */
    list: waiting(async (call) => (await import('./mcp-calls.ts')).listTools(call)),
  },
}

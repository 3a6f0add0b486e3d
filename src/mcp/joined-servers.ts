import type { McpServers } from '../event/mcp.ts'

/** The servers of a run together with those of a pack. The names are disjoint. */
export function joinServers(ofRun: McpServers | undefined, ofPack: McpServers): McpServers {
  if (ofRun === undefined) return ofPack
  const names = new Set(ofPack.servers.map(({ name }) => name))
  const having = (name: string): McpServers => (names.has(name) ? ofPack : ofRun)
  const leftOut = new Map([...(ofRun.leftOut ?? []), ...(ofPack.leftOut ?? [])])
  return {
    servers: [...ofRun.servers, ...ofPack.servers],
    ...(leftOut.size === 0 ? {} : { leftOut }),
    tools: async (name, signal) => having(name).tools(name, signal),
    resources: async (name, signal) => having(name).resources(name, signal),
    prompts: async (name, signal) => having(name).prompts(name, signal),
    call: async (name, tool, input, call) => having(name).call(name, tool, input, call),
    read: async (name, uri, call) => having(name).read(name, uri, call),
    prompt: async (name, prompt, values, call) => having(name).prompt(name, prompt, values, call),
    about: (name) => having(name).about(name),
    // the creator of each closes it
    close: async () => undefined,
  }
}

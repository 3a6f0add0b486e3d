import { atMost } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, defined, type JsonObject } from '../base/json.ts'
import type { McpServer } from '../event/mcp.ts'
import { fullName } from './names.ts'
import { createServerLife, type LifeOptions, type LifeState, type ServerLife } from './server-life.ts'

/** MCP servers that outlive a run: those of a chat, whose messages are runs. One run at a time uses them. */
export interface ChatServers {
  /**
   * The server as it runs. One that is defined differently now, or no longer answered, is ended, and a new one takes its
   * place.
   */
  life(server: McpServer, options: LifeOptions): ServerLife
  /** Ends the servers of settings, or of a pack, that are not among these: their definition is gone or not trusted. */
  keepOnly(servers: readonly McpServer[], pack?: string): void
  /** Ends one, so that its next use starts it anew. False: there is none of that name. */
  end(name: string): boolean
  /** By full name, in the order of their first use. */
  states(): readonly { readonly name: string; readonly state: LifeState }[]
  /** Ends all of them and every process that they started. Never rejects. */
  close(): Promise<void>
}

interface StoredServer {
  readonly server: McpServer
  readonly definition: string
  readonly life: ServerLife
}

/** For closing all servers: TERM, KILL after 5 s, and some margin. */
const closeMs = 8_000

export function createChatServers(): ChatServers {
  const all = new Map<string, StoredServer>()
  const ending = new Set<Promise<void>>()
  let isClosed = false

  function end(life: ServerLife): Promise<void> {
    const ended = life.close().catch(() => undefined)
    ending.add(ended)
    void ended.then(() => ending.delete(ended))
    return ended
  }

  return {
    life(server, options) {
      const name = fullName(server)
      if (isClosed) throw new BatonError('MCP_FAILED', `the MCP server ${name} was closed because the chat ended`)
      const known = all.get(name)
      const definition = definitionOf(server, options)
      if (known?.definition === definition && !known.life.isStuck()) return known.life
      const wasUsed = known !== undefined && known.life.state().kind !== 'unused'
      const before = known && end(known.life)
      const life = createServerLife(server, {
        ...options,
        ...defined({ after: before }),
        ...(wasUsed && { isAnew: true }),
      })
      all.set(name, { server, definition, life })
      return life
    },
    keepOnly(servers, pack) {
      const names = new Set(servers.map(fullName))
      for (const [name, { server, life }] of all) {
        if (server.pack !== pack || names.has(name)) continue
        all.delete(name)
        void end(life)
      }
    },
    end(name) {
      const known = all.get(name)
      if (known === undefined) return false
      all.set(name, { ...known, definition: '' })
      void end(known.life)
      return true
    },
    states: () => [...all].map(([name, { life }]) => ({ name, state: life.state() })),
    async close() {
      isClosed = true
      for (const { life } of all.values()) void end(life)
      await atMost(closeMs, Promise.all(ending))
    },
  }
}

/** Everything that a connection depends on, as a hash, because it has secrets. */
function definitionOf(server: McpServer, { environment, roots, canAsk, maxBytes }: LifeOptions): string {
  const { startMs, toolMs, sampling, login } = server
  const { clientSecret: _, ...named } = login ?? { clientSecret: undefined }
  const of = { startMs, toolMs, sampling, environment, roots, canAsk, maxBytes, named }
  return sha256(canonicalJson({ ...of, ...transportOf(server) } as unknown as JsonObject))
}

/** A start reports why it cannot be reached. */
function transportOf({ transport }: McpServer): { readonly transport?: unknown } {
  try {
    return { transport: transport() }
  } catch {
    return {}
  }
}

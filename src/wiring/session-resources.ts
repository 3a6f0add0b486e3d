import { type GroupLeader, leaderOf } from '../base/process-group.ts'
import type { ReadChatMessage } from '../journal/chat-context.ts'
import type { ChatServers } from '../mcp/chat-servers.ts'
import { createKeptShell, type ChatShell, type Moved } from '../tool/shell/session.ts'

/**
 * What outlives the messages of a chat: its MCP servers, and the folder and the background commands of its shell. Each
 * message is a run with a record of its own; this is handed to it, and belongs to whoever opened the chat.
 */
export interface SessionResources {
  readonly shell: ChatShell
  /** Reads earlier messages of the chat; undefined until the first time. */
  reader: ReadChatMessage | undefined
  /** Its servers, which the first run that has any creates. */
  readonly servers: (create: () => ChatServers) => ChatServers
  /** Its servers, if there are any. */
  readonly openServers: () => ChatServers | undefined
  /** Call it with each process of a server. */
  readonly noteServer: (server: string, pid: number) => void
  readonly state: () => SessionState
  /** Called with each change of its state. */
  onChange: (state: SessionState) => void
  /** Ends all of it. Never rejects. */
  readonly close: () => Promise<void>
}

/** What a session has, as it is kept for a later process. Plain JSON. */
export interface SessionState {
  /** The servers that it has started, by full name. */
  readonly servers: readonly string[]
  /** Background commands that run. */
  readonly commands: readonly { readonly id: string; readonly line: string }[]
  /** The ids of all its background commands. */
  readonly jobs: readonly string[]
  readonly moved?: Moved
  /** The groups of processes that run. */
  readonly processes: readonly GroupLeader[]
}

/** @param before what the shell of an earlier process had: its folder, and the ids of its background commands */
export function createSessionResources(before: Partial<Pick<SessionState, 'moved' | 'jobs'>> = {}): SessionResources {
  const started = new Map<string, GroupLeader>()
  let servers: ChatServers | undefined
  let closing: Promise<void> | undefined
  const changed = (): void => session.onChange(session.state())
  const shell = createKeptShell(before, changed)

  async function closeAll(): Promise<void> {
    session.onChange = () => undefined
    await Promise.allSettled([shell.jobs.close(), servers?.close()])
  }

  const session: SessionResources = {
    shell,
    reader: undefined,
    servers: (create) => (servers ??= create()),
    openServers: () => servers,
    noteServer(server, pid) {
      if (started.get(server)?.pid === pid) return
      started.set(server, leaderOf(pid))
      changed()
    },
    state() {
      const running = shell.jobs.running()
      const moved = shell.moved()
      return {
        servers: [...started.keys()],
        commands: running.map(({ id: job, line }) => ({ id: job, line })),
        jobs: shell.jobs.ids(),
        ...(moved === undefined ? {} : { moved }),
        processes: [...started.values(), ...running.map(({ leader }) => leader)],
      }
    },
    onChange: () => undefined,
    close: () => (closing ??= closeAll()),
  }
  return session
}

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { defined } from '../../src/base/json.ts'
import { serveWorkspace, type ServeOptions, type Serving } from '../../src/serve/http/serve.ts'
import { tempTree } from './temp.ts'

/** The secret of every server here. */
export const secret = 'a secret of this test'

/** The processes of runs load the command, which is compiled once for all tests. */
const compiled = { NODE_COMPILE_CACHE: join(tmpdir(), 'baton-test-compiled') }

export interface ServedOptions extends Partial<
  Pick<ServeOptions, 'maxRuns' | 'limits' | 'comparison' | 'page' | 'port' | 'clock' | 'onProblem'>
> {
  readonly env?: Readonly<Record<string, string>>
  /** Additional lines of the config file. */
  readonly config?: string
  /** The folders of an earlier server: the same workspace is served again. */
  readonly place?: Pick<HttpServed, 'folder' | 'home'>
}

interface Answered {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** A server in this process, the workspace that it serves, and `BATON_HOME`. */
export interface HttpServed {
  readonly serving: Serving
  /** What the server has told a person. */
  readonly problems: readonly string[]
  readonly folder: string
  readonly home: string
  /** Where runs take place that do not belong to the server. */
  readonly around: { readonly cwd: string; readonly home: string; readonly env: Readonly<Record<string, string>> }
  /** Sends the secret. `path` starts at the root. */
  readonly get: (path: string) => Promise<Answered>
  readonly post: (path: string, body?: unknown) => Promise<Answered>
}

export async function serveTree(
  tree: Readonly<Record<string, string>>,
  { env = {}, config = '', place, maxRuns = 8, port = 0, onProblem, ...others }: ServedOptions = {},
): Promise<HttpServed> {
  const folder = place?.folder ?? tempTree({ '.git/HEAD': 'x\n', ...tree })
  const home = place?.home ?? tempTree({ 'config/config.toml': `[permission]\ntodo = "ask"\n${config}` })
  const around = {
    cwd: folder,
    home,
    env: { PATH: process.env['PATH'] ?? '', BATON_HOME: home, BATON_LOCAL_SERVERS: 'off', ...compiled, ...env },
  }
  // a process for a run is started when it is needed
  const problems: string[] = []
  const told = (problem: string): void => {
    problems.push(problem)
    onProblem?.(problem)
  }
  const options = { port, secret, maxRuns, spare: 0, onProblem: told, ...defined(others) }
  const serving = await serveWorkspace({ ...around, shared: { overrides: [] } }, options)
  onTestFinished(() => serving.close())
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const ask = async (path: string, init: RequestInit = {}): Promise<Answered> => {
    const response = await fetch(`${serving.url}${path}`, { headers, ...init })
    return { status: response.status, body: (await response.json()) as Answered['body'] }
  }
  return {
    serving,
    problems,
    folder,
    home,
    around,
    get: (path) => ask(path),
    post: (path, body = {}) => ask(path, { method: 'POST', body: JSON.stringify(body) }),
  }
}

export interface ServerEvent {
  readonly id?: string
  readonly event: string
  readonly data: Record<string, unknown>
}

export interface Followed {
  /** The events received so far. */
  readonly events: readonly ServerEvent[]
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  readonly leave: () => void
}

/** Follows a stream of events, starting after an event seen earlier. */
export function follow(
  { serving }: { readonly serving: Pick<Serving, 'url'> },
  path: string,
  lastEventId?: string,
): Followed {
  const events: ServerEvent[] = []
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  }
  const read = async (): Promise<void> => {
    const response = await fetch(`${serving.url}${path}`, { headers, signal: stop.signal })
    let text = ''
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = `${text}${piece}`.split('\n\n')
      text = parts.pop() ?? ''
      events.push(...parts.filter((part) => !part.startsWith(':')).map(eventOf))
    }
  }
  return { events, ended: read().catch(() => undefined), leave: () => stop.abort() }
}

function eventOf(part: string): ServerEvent {
  const fields = new Map(
    part.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
  )
  const id = fields.get('id')
  const data = JSON.parse(fields.get('data') ?? '{}') as ServerEvent['data']
  return { event: fields.get('event') ?? '', data, ...(id === undefined ? {} : { id }) }
}

/** The rows of events as in a client that replaces each row by a later one with the same number. */
export function rowsOf(events: readonly ServerEvent[]): readonly Record<string, unknown>[] {
  const rows = new Map<unknown, Record<string, unknown>>()
  for (const { event, data } of events) {
    if (event !== 'rows') continue
    for (const row of data['rows'] as readonly Record<string, unknown>[]) rows.set(row['n'], row)
  }
  return [...rows].toSorted(([one], [other]) => Number(one) - Number(other)).map(([, row]) => row)
}

/** The id of the last event that has one. */
export function lastId(events: readonly ServerEvent[]): string {
  return events.findLast(({ id }) => id !== undefined)?.id ?? ''
}

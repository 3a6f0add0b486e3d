import { isObject } from '../base/json.ts'
import { readBaseUrl } from './base-url.ts'
import { builtInProviders } from './builtin.ts'
import { providerTarget, readVariable, type Environment, type HostTarget } from './choice.ts'

/** A model on a server of this machine. */
export interface HostModel {
  readonly provider: HostTarget
  readonly model: string
}

export interface LocalSearch {
  readonly env: Environment
  readonly signal: AbortSignal
  readonly fetch?: typeof fetch
  /** Ports by provider, overriding the table and `OLLAMA_HOST`. */
  readonly ports?: { readonly [provider: string]: number }
}

/** If this variable is `off`, no local server is searched for. */
export const localServersEnv = 'BATON_LOCAL_SERVERS'
/**
 * How long a local server may take to list its models, in milliseconds, which is long for a busy machine. Where no
 * server listens, nobody waits.
 */
const limitMs = 1000

/** A local server that was asked for its models. */
export interface LocalServer {
  readonly provider: HostTarget
  /** The models it lists; undefined if nothing answers there. */
  readonly models: readonly string[] | undefined
}

/**
 * Asks the local model servers (Ollama, LM Studio, llama-server) in parallel; the result is in table order. Only
 * loopback is asked: a prompt must never go to another machine just because no model was named.
 * @throws the signal's reason if it is aborted
 */
export async function askLocalServers({
  env,
  signal,
  fetch: send = fetch,
  ports = {},
}: LocalSearch): Promise<readonly LocalServer[]> {
  signal.throwIfAborted()
  if (readVariable(env, localServersEnv)?.toLowerCase() === 'off') return []
  const local = Object.keys(builtInProviders).filter((name) => builtInProviders[name]?.isLocal === true)
  const targets = local.flatMap((name) => loopbackTarget(name, env, ports[name]))
  const models = await Promise.all(targets.map(({ baseUrl }) => modelsAt(`${baseUrl}/models`, { send, signal })))
  signal.throwIfAborted()
  return targets.map((provider, index) => ({ provider, models: models[index] }))
}

/**
 * The first text model of the first server that lists one. Servers that fail in any way are skipped.
 * @throws the signal's reason if it is aborted
 */
export async function findLocalModel(search: LocalSearch): Promise<HostModel | undefined> {
  return firstLocalModel(await askLocalServers(search))
}

/** The same for servers that were already asked. */
export function firstLocalModel(servers: readonly LocalServer[]): HostModel | undefined {
  const found = servers.flatMap(({ provider, models = [] }) => {
    const model = models.find((id) => !/embed/i.test(id))
    return model === undefined ? [] : [{ provider, model }]
  })
  return found[0]
}

function loopbackTarget(name: string, env: Environment, port: number | undefined): readonly HostTarget[] {
  const target = providerTarget(name, { env, providers: {}, aliases: {} })
  if (target === undefined || !URL.canParse(target.baseUrl)) return []
  const url = new URL(target.baseUrl)
  if (!/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)) return []
  if (port !== undefined) url.port = String(port)
  return [{ ...target, baseUrl: readBaseUrl(url.href, name).url }]
}

async function modelsAt(
  url: string,
  { send, signal }: { readonly send: typeof fetch; readonly signal: AbortSignal },
): Promise<readonly string[] | undefined> {
  const timeout = new AbortController()
  // the timer starts after the call, because the first one in a process loads the whole HTTP client
  const asked = send(url, { redirect: 'manual', signal: AbortSignal.any([signal, timeout.signal]) })
  const timer = setTimeout(() => timeout.abort(), limitMs)
  try {
    const response = await asked
    const body: unknown = JSON.parse(await response.text())
    return response.ok ? modelIds(body) : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

/** The ids from `GET /models`, which include embedding models. */
function modelIds(body: unknown): readonly string[] {
  const models = isObject(body) && Array.isArray(body['data']) ? (body['data'] as readonly unknown[]) : []
  return models.flatMap((model) => (isObject(model) && typeof model['id'] === 'string' ? [model['id']] : []))
}

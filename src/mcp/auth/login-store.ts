import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../base/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type DataFile, readPrivateDataFile, writePrivateDataFile } from '../../config/data-file.ts'
import { stateFolder } from '../../journal/run-id.ts'

/** What is known of a login at a server. */
export interface Login {
  /** As the authorization server gave them, with its `issuer`. */
  readonly tokens?: JsonObject
  /** What this installation is registered as, by the issuer of the authorization server. */
  readonly clients: { readonly [issuer: string]: JsonObject }
  /** Where the server says that its authorization server is. */
  readonly discovery?: JsonObject
  /** The address of this machine that the clients were registered with. */
  readonly redirectUrl?: string
  /** What a run was refused for want of, separated by spaces: the next login asks for it too. */
  readonly missingScope?: string
}

/** The login at one server: a file of its own that nobody else may read. */
export interface LoginStore {
  /** As it is now: another process may have got new tokens. */
  readonly read: () => Login
  readonly change: (change: (login: Login) => Login) => void
  /** False: there was none. */
  readonly remove: () => boolean
}

const kind: DataFile<Login> = {
  key: 'logins',
  what: 'a login at an MCP server',
  hint: 'Remove it, and log in again with baton mcp login NAME.',
  parse: (value) => (isJsonObject(value) && isJsonObject(value['clients']) ? (value as unknown as Login) : undefined),
}

const none: Login = { clients: {} }

/** The login at the server of an address: servers that are named twice have one. Nothing is made before it is changed. */
export function openLoginStore(
  url: string,
  around: { readonly env: Readonly<Record<string, string | undefined>>; readonly home: string },
): LoginStore {
  const address = new URL(url).href
  const file = join(stateFolder(around), 'mcp', `${sha256(address).slice(0, 24)}.json`)
  const read = (): Login => readPrivateDataFile(file, kind).get(address) ?? none
  return {
    read,
    change(change) {
      writePrivateDataFile(file, kind.key, new Map([[address, change(read())]]))
    },
    remove() {
      const isKnown = readPrivateDataFile(file, kind).size > 0
      rmSync(file, { force: true })
      return isKnown
    },
  }
}

/** The values that must not be seen: tokens, and secrets of registered clients. */
export function secretsOfLogin({ tokens, clients }: Login): readonly string[] {
  const values: readonly (Json | undefined)[] = [
    tokens?.['access_token'],
    tokens?.['refresh_token'],
    tokens?.['id_token'],
    ...Object.values(clients).map((client) => client['client_secret']),
  ]
  return values.filter((value): value is string => typeof value === 'string' && value !== '')
}

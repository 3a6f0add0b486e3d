import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../base/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type DataFile, readPrivateDataFile, writePrivateDataFile } from '../../config/data-file.ts'
import { stateFolder } from '../../journal/run-id.ts'

/** A stored login at a server. */
export interface Login {
  /** As received from the authorization server, with its `issuer`. */
  readonly tokens?: JsonObject
  /** The OAuth clients of this installation, by the issuer of the authorization server. */
  readonly clients: { readonly [issuer: string]: JsonObject }
  /** The authorization server that the MCP server names. */
  readonly discovery?: JsonObject
  /** The redirect URL that the clients were registered with. */
  readonly redirectUrl?: string
  /** Scopes that a run was missing, separated by spaces: the next login requests them too. */
  readonly missingScope?: string
}

/** The login at one server, in its own file that only the user can read. */
export interface LoginStore {
  /** Reads the file each time: another process may have refreshed the tokens. */
  readonly read: () => Login
  readonly change: (change: (login: Login) => Login) => void
  /** False if there was none. */
  readonly remove: () => boolean
}

const kind: DataFile<Login> = {
  key: 'logins',
  what: 'a login at an MCP server',
  hint: 'Remove it, and log in again with baton mcp login NAME.',
  parse: (value) => (isJsonObject(value) && isJsonObject(value['clients']) ? (value as unknown as Login) : undefined),
}

const none: Login = { clients: {} }

/**
 * The login for a server's address: servers with the same address share it. The file is created by the first change.
 */
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

/** The values to mask: tokens, and secrets of registered clients. */
export function secretsOfLogin({ tokens, clients }: Login): readonly string[] {
  const values: readonly (Json | undefined)[] = [
    tokens?.['access_token'],
    tokens?.['refresh_token'],
    tokens?.['id_token'],
    ...Object.values(clients).map((client) => client['client_secret']),
  ]
  return values.filter((value): value is string => typeof value === 'string' && value !== '')
}

import { isUtf8 } from 'node:buffer'
import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { harmlessName } from '../base/terminal-text.ts'
import type { RunContext } from '../event/context.ts'
import type { McpResource, McpResourceContent, McpServer } from '../event/mcp.ts'
import type { FilePart } from '../event/message.ts'
import { item, part, type Place } from '../event/place.ts'
import { fullName } from './names.ts'
import { findServer, listResources, readResource } from './recorded-calls.ts'
import { fileOfResource } from './results.ts'

/** A resource for a prompt: its text, or an image or PDF document. */
export interface ContextResource {
  /** `SERVER:URI`. */
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly content: string | FilePart
}

/**
 * Reads the entries of `context_resources`. Rejects as `findServer` does, and with MCP_FAILED for a missing resource.
 */
export type ReadResources = (entries: readonly string[]) => Promise<readonly ContextResource[]>

/** Splits `SERVER:URI`, where the URI may be a pattern. Undefined if the entry does not have this form. */
export function splitResource(entry: string): { readonly server: string; readonly uri: string } | undefined {
  const [, server = '', uri = ''] = /^([\w-]+):(.+)$/s.exec(entry) ?? []
  return server === '' ? undefined : { server, uri }
}

/**
 * Each resource is read once, and each server's list is requested once, however many tasks need them. Both are recorded
 * below the place of the context, keyed by server and URI, so a resumed run and a replay need no server.
 */
export function createResourceReader(context: RunContext): ReadResources {
  const read = remembered((path) => readOne(path, context))
  const list = remembered((name) => {
    const server = findServer(name, context.services)
    return listResources(server, placeOf(`${name}:*`, context.scope.at), context.services)
  })

  async function pathsOf(entry: string): Promise<readonly string[]> {
    const { server: name, uri } = named(entry)
    if (!uri.includes('*')) return [entry]
    const listed = (await list(name)).filter(({ isTemplate }) => isTemplate !== true)
    const found = listed.filter((one) => matches(uri, one.uri)).map((one) => `${name}:${one.uri}`)
    if (found.length > 0) return found
    throw noMatch({ name, uri }, listed)
  }

  return async (entries) => {
    const paths = await Promise.all(entries.map(pathsOf))
    return (await Promise.all([...new Set(paths.flat())].map(read))).flat()
  }
}

function remembered<T>(make: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new Map<string, Promise<T>>()
  return async (key) => {
    const made = known.get(key) ?? make(key)
    known.set(key, made)
    return made
  }
}

function placeOf(path: string, at: Place): Place {
  return [...at, part('mcp'), item(path)]
}

function named(entry: string): { readonly server: string; readonly uri: string } {
  const split = splitResource(entry)
  if (split !== undefined) return split
  throw new BatonError('CONFIG_INVALID', `context_resources: "${entry}" names no server`, {
    hint: 'Write "SERVER:URI".',
  })
}

/** `*` matches any characters. */
function matches(pattern: string, uri: string): boolean {
  const pieces = pattern.split('*').map((piece) => piece.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${pieces.join('.*')}$`, 's').test(uri)
}

function noMatch(
  { name, uri }: { readonly name: string; readonly uri: string },
  listed: readonly McpResource[],
): BatonError {
  const message = `the MCP server ${name} lists no resource that matches "${uri}"`
  const near = nearest(
    uri,
    listed.map((one) => one.uri),
  )
  const meant = near === undefined ? '' : `Did you mean "${harmlessName(near)}"? `
  return new BatonError('MCP_FAILED', message, { hint: `${meant}baton mcp tools ${name} shows its resources.` })
}

async function readOne(path: string, context: RunContext): Promise<readonly ContextResource[]> {
  const { server: name, uri } = named(path)
  const server = findServer(name, context.services)
  const contents = await readNamed(server, uri, context)
  return contents.map((content) => shownContent(server, content))
}

async function readNamed(server: McpServer, uri: string, context: RunContext): Promise<readonly McpResourceContent[]> {
  const at = placeOf(`${server.name}:${uri}`, context.scope.at)
  try {
    return await readResource({ server, uri }, { at, caller: 'context_resources', context })
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'MCP_FAILED') throw error
    const message = `context_resources: ${harmlessName(uri)} cannot be read: ${error.message}`
    const where = `baton mcp tools ${fullName(server)} shows`
    const { hint: before = '' } = error
    const hint = before.includes(where) ? before : `${before} ${where} its resources.`.trim()
    throw rewordError(error, { message, hint })
  }
}

function shownContent({ name }: McpServer, content: McpResourceContent): ContextResource {
  const { uri, text, blob = '', mimeType = 'application/octet-stream' } = content
  const path = `${name}:${uri}`
  if (text !== undefined) return { path, size: Buffer.byteLength(text), content: text }
  const file = fileOfResource(content)
  const bytes = Buffer.from(blob, 'base64')
  if (file !== undefined) return { path, size: bytes.length, content: file }
  if (isUtf8(bytes) && !bytes.includes(0)) return { path, size: bytes.length, content: bytes.toString('utf8') }
  const shown = `${harmlessName(path)} (${harmlessName(mimeType)})`
  throw new BatonError('MCP_FAILED', `context_resources: ${shown} cannot be put into a prompt`, {
    hint: 'Prompts can contain text, images (PNG, JPEG, GIF, WebP) and PDF documents. Remove it.',
  })
}

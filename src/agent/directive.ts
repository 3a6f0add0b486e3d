import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { givenOptions } from './options.ts'

/** The meaning of a stage value: a plain value or a flow response (docs/aipack.md "Flow"). */
export type Directive =
  | { readonly kind: 'value'; readonly value: Json | undefined }
  | { readonly kind: 'before_all'; readonly response: JsonObject }
  | { readonly kind: 'data'; readonly response: JsonObject }
  | { readonly kind: 'skip'; readonly reason: string | undefined }
  | { readonly kind: 'redo' }

const responseKeys = {
  BeforeAllResponse: ['inputs', 'before_all', 'options'],
  DataResponse: ['input', 'data', 'attachments', 'options'],
} as const

/**
 * Reads the marker tables that `aip.flow.*` creates; anything else is a plain value.
 * @throws BatonError SCRIPT_FAILED for an unknown kind and for unknown keys of a response, naming them
 */
export function readDirective(value: Json | undefined): Directive {
  const marker = isJsonObject(value) ? value['_aipack_'] : undefined
  const kind = isJsonObject(marker) ? marker['kind'] : undefined
  if (!isJsonObject(marker) || typeof kind !== 'string') return { kind: 'value', value }

  const data = marker['data'] ?? null
  switch (kind) {
    case 'BeforeAllResponse':
      return { kind: 'before_all', response: readResponse(kind, data) }
    case 'DataResponse':
      return { kind: 'data', response: readResponse(kind, data) }
    case 'Skip':
      return { kind: 'skip', reason: readReason(data) }
    case 'Redo':
      return { kind: 'redo' }
    default:
      throw new BatonError('SCRIPT_FAILED', `unknown flow response "${kind}"`, {
        hint: 'Create flow responses with aip.flow.before_all_response, data_response, skip or redo_run.',
      })
  }
}

function readResponse(kind: keyof typeof responseKeys, data: Json): JsonObject {
  if (!isJsonObject(data)) return {}
  const known: readonly string[] = responseKeys[kind]
  const unknown = Object.keys(data).filter((key) => !known.includes(key))
  if (unknown.length === 0) return data
  throw new BatonError('SCRIPT_FAILED', `${kind} has unknown keys: ${unknown.join(', ')}`, {
    hint: `Allowed keys: ${known.join(', ')}.`,
  })
}

function readReason(data: Json): string | undefined {
  const reason = isJsonObject(data) ? data['reason'] : undefined
  return typeof reason === 'string' ? reason : undefined
}

/**
 * The options of a flow response; empty if it has none.
 * @throws BatonError SCRIPT_FAILED for invalid options, naming the key
 */
export function optionsOf(response: JsonObject, flow: 'before_all_response' | 'data_response'): JsonObject {
  return givenOptions(response['options'], `aip.flow.${flow}`)
}

/** The error for a flow response in a section that may not return it. */
export function misplaced(name: string, section: string): BatonError {
  const where: Readonly<Record<string, string>> = {
    redo_run: 'Before All or After All',
    before_all_response: 'Before All',
    data_response: 'Data',
  }
  return new BatonError('SCRIPT_FAILED', `${section} may not return aip.flow.${name}()`, {
    hint: `Only ${where[name]} may.`,
  })
}

import type { Json, JsonObject } from '../base/json.ts'

/*
 * Building blocks for the fields of events: each is a JSON Schema that carries the TypeScript type of its values.
 */

declare const described: unique symbol

/** A JSON Schema and the type of the values that match it. */
export interface Schema<T> extends JsonObject {
  readonly [described]?: T
}

/** An optional field. */
export interface Optional<T> {
  readonly optional: Schema<T>
}

export interface Fields {
  readonly [name: string]: Schema<unknown> | Optional<unknown>
}

/** The type of an object with these fields. */
export type Described<F extends Fields> = Flat<
  {
    readonly [N in keyof F as F[N] extends Optional<unknown> ? never : N]: F[N] extends Schema<infer T> ? T : never
  } & {
    readonly [N in keyof F as F[N] extends Optional<unknown> ? N : never]?: F[N] extends Optional<infer T> ? T : never
  }
>

export type Flat<T> = { [N in keyof T]: T[N] }

export const text: Schema<string> = { type: 'string' }
export const truth: Schema<boolean> = { type: 'boolean' }
export const number: Schema<number> = { type: 'number' }
export const ordinal: Schema<number> = { type: 'integer', minimum: 1 }
export const numberOrNull: Schema<number | null> = { type: ['number', 'null'] }
export const count: Schema<number> = { type: 'integer', minimum: 0 }
export const amount: Schema<number | null> = { type: ['number', 'null'], minimum: 0 }
export const textOrNull: Schema<string | null> = { type: ['string', 'null'] }
export const anything: Schema<Json> = {}

export function always<const T extends Json>(value: T): Schema<T> {
  return { const: value }
}

export function oneOf<const T extends string>(...values: readonly T[]): Schema<T> {
  return { enum: values }
}

export function list<T>(items: Schema<T>): Schema<readonly T[]> {
  return { type: 'array', items }
}

export function optional<T>(schema: Schema<T>): Optional<T> {
  return { optional: schema }
}

export function object<F extends Fields>(fields: F): Schema<Described<F>> {
  const entries = Object.entries(fields)
  return {
    type: 'object',
    required: entries.filter(([, field]) => !isOptional(field)).map(([name]) => name),
    properties: Object.fromEntries(entries.map(([name, field]) => [name, isOptional(field) ? field.optional : field])),
  }
}

function isOptional(field: Fields[string]): field is Optional<unknown> {
  return 'optional' in field
}

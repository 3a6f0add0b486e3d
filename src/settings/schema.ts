import * as z from 'zod'
import { reserved, type ReservedKey } from './keys.ts'
import * as kinds from './kinds.ts'
import type { KeyRows, TableRow, ValueRow } from './setting.ts'

/** The schema of every reserved top-level key, including those that this version does not support. */
export const schemas = Object.fromEntries(Array.from(reserved, ([key, row]) => [key, schemaOf(row)])) as {
  readonly [Key in ReservedKey]: z.ZodType
}

function schemaOf(row: ValueRow | TableRow): z.ZodType {
  if ('schema' in row) return row.schema(kinds)
  const { keys, settings = [], each, refine = same, refineAll = same } = row
  const all = { ...Object.fromEntries(settings.map((key) => [key, rowOf(key)])), ...keys }
  const table = refine(tableSchema(all))
  if (each === undefined) return table
  if (each === 'name') return refineAll(kinds.tableOf(table))
  const { list, orName } = each
  return refineAll(kinds.listOf(orName === undefined ? table : kinds.either([kinds.name, table], orName), list))
}

function same(schema: z.ZodType): z.ZodType {
  return schema
}

function rowOf(key: string): ValueRow | TableRow {
  const row = reserved.get(key)
  if (row === undefined) throw new Error(`there is no setting ${key}`)
  return row
}

function tableSchema(keys: KeyRows): z.ZodType {
  const shape = Object.entries(keys).map(([key, row]) => {
    const schema = schemaOf(row)
    return [key, row.isRequired === true ? schema : z.exactOptional(schema)]
  })
  return z.strictObject(Object.fromEntries(shape) as z.ZodRawShape, { error: 'a table' })
}

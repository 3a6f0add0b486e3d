import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type DataPath, pathText } from '../../src/base/data-text.ts'
import { isBatonError } from '../../src/base/error.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { loadOutputSchema } from '../../src/load/output-schema.ts'
import { readStructured, repairMessage, type StructuredAnswer } from '../../src/run/structured-answer.ts'
import { tempTree } from '../helpers/temp.ts'
import { core } from '../helpers/series.ts'

/** Replaces the front matter: the requested path becomes the name of the file. */
async function placeOf(path: DataPath) {
  return { file: pathText(path) }
}

interface Folders {
  readonly workspace: string
  /** Default: the workspace. */
  readonly dir?: string
}

function load(schema: string | JsonObject, { workspace, dir = workspace }: Folders = { workspace: '/nowhere' }) {
  return loadOutputSchema({ schema, dir, workspace }, placeOf)
}

/** The error as displayed. */
async function failure(schema: string | JsonObject, folders?: Folders): Promise<string> {
  const error: unknown = await load(schema, folders).then(
    () => 'no error',
    (reason: unknown) => reason,
  )
  if (!isBatonError(error)) return String(error)
  const { file, line, column } = error.place ?? {}
  return `${error.code} ${error.message} (${file}:${line}:${column})`
}

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name'],
  additionalProperties: false,
} as const

async function read(answer: string, schema: JsonObject = person): Promise<StructuredAnswer> {
  return readStructured(answer, await load(schema), new AbortController().signal)
}

async function problems(answer: string, schema?: JsonObject): Promise<readonly string[]> {
  const result = await read(answer, schema)
  return result.kind === 'ok' ? [] : result.problems.map(({ path, message }) => `${path} ${message}`)
}

describe('loading the schema of [output]', () => {
  it('accepts a table', async () => {
    const { schema, validate } = await load(person)
    expect(schema).toStrictEqual(person)
    expect(validate({ name: 'Ada' })).toStrictEqual([])
  })

  it('reads a file next to the prompt file, comments and byte order mark included', async () => {
    const workspace = tempTree({
      'prompts/out.json': `\uFEFF// people\n${JSON.stringify(person, null, 2)}\n`,
      'big.json': '{"maximum": 12345678901234567890}',
    })
    const { schema } = await load('out.json', { workspace, dir: join(workspace, 'prompts') })
    expect(schema).toStrictEqual(person)
    const { validate } = await load('../big.json', { workspace, dir: join(workspace, 'prompts') })
    expect(validate(2e19)).toHaveLength(1)
  })

  it('reads a file below a prompt file outside the workspace', async () => {
    const dir = tempTree({ 'a/out.json': '{}' })
    expect((await load('a/out.json', { workspace: tempTree(), dir })).schema).toStrictEqual({})
  })

  it('locates an error in a table in that table', async () => {
    expect(await failure({ properties: { a: { type: 'text' } } })).toMatch(
      /^CONFIG_INVALID the schema of \[output\] is not valid: \$\.properties\.a\.type must be one of .* \(output\.schema\.properties\.a\.type:/,
    )
  })

  it('locates an error of a file in the file', async () => {
    const workspace = tempTree({
      'type.json': '{\n  "properties": {\n\t"a": { "type": "text" }\n  }\n}\n',
      'ref.json': '{ "$ref": "other.json" }',
      'cut.json': '{\n  "type": "object",\n  "properties": {\n',
      'list.json': '[]',
      'empty.json': '',
    })
    const at = (name: string): string => join(workspace, name)
    expect(await failure('type.json', { workspace })).toContain(`but is "text" (${at('type.json')}:3:17)`)
    expect(await failure('ref.json', { workspace })).toMatch(
      /it refers to "other\.json", which it does not contain; .*ref\.json:1:11\)$/,
    )
    expect(await failure('cut.json', { workspace })).toBe(
      `CONFIG_INVALID the schema file is not JSON: no matching } at line 3, column 17 (${at('cut.json')}:3:17)`,
    )
    expect(await failure('list.json', { workspace })).toContain(`does not contain an object (${at('list.json')}:1:1)`)
    expect(await failure('empty.json', { workspace })).toContain(`does not contain an object (${at('empty.json')}:1:1)`)
  })

  it('locates an unusable file where it is named', async () => {
    const workspace = tempTree({ 'bad.json': Buffer.from([0x22, 0xff, 0x22]) })
    const outside = join(tempTree({ 'out.json': '{}' }), 'out.json')
    symlinkSync(outside, join(workspace, 'link.json'))
    expect(await failure('none.json', { workspace })).toMatch(
      /^FILE_UNREADABLE there is no file none\.json \(output\.schema:/,
    )
    expect(await failure('bad.json', { workspace })).toMatch(/^FILE_UNREADABLE .*bad\.json:1:2\)$/)
    expect(await failure(outside, { workspace })).toMatch(/^OUTSIDE_WORKSPACE .*\(output\.schema:/)
    expect(await failure('link.json', { workspace })).toMatch(/^OUTSIDE_WORKSPACE .*\(output\.schema:/)
  })
})

describe('reading a structured answer', () => {
  const text = '{\n  "name": "Ada"\n}'

  it.each([
    ['JSON alone', '\uFEFF \n{"name":"Ada"}\n'],
    ['a fenced block', 'Here it is:\n\n```json\n{"name": "Ada"}\n```\nBye {}.'],
    ['a fenced block without a language, CRLF', 'Look:\r\n~~~\r\n{"name":\r\n"Ada"}\r\n~~~\r\n'],
    ['a fence that is not closed', '```JSON\n{"name": "Ada"}'],
    ['text around it', 'As [1] and {"x": 1} say: {"name": "Ada"} - that is {"name":"Ada"}.'],
    ['a fenced block in another language around it', '```ts\nconst a = {"name": "Ada"}\n```'],
  ])('finds %s', async (_, answer) => {
    expect(await read(answer)).toStrictEqual({ kind: 'ok', value: { name: 'Ada' }, text })
  })

  it('keeps brackets, quotes and fences in strings', async () => {
    const name = '}]"\\ ```json {" \u00e9 😀'
    expect(await read(`It is ${JSON.stringify({ name })} there`)).toMatchObject({ kind: 'ok', value: { name } })
  })

  it('accepts values of every kind', async () => {
    expect(await read('"x"', { type: 'string' })).toStrictEqual({ kind: 'ok', value: 'x', text: '"x"' })
    expect(await read('null', { type: 'null' })).toStrictEqual({ kind: 'ok', value: null, text: 'null' })
    expect(await read('so: [1, 2]', { type: 'array' })).toMatchObject({ kind: 'ok', value: [1, 2] })
  })

  it('does not change the digits of long numbers', async () => {
    expect(await read('{"id": 12345678901234567890}', {})).toMatchObject({ text: '{\n  "id": 12345678901234567890\n}' })
  })

  it('names the problems of invalid JSON', async () => {
    expect(await problems('{"name": 1, "age": 2.5, "x": 0}')).toStrictEqual([
      '$ the key "x" is not allowed',
      '$.name must be a string, but is 1',
      '$.age must be a whole number, but is 2.5',
    ])
  })

  it('names the problems of the longest value when none is valid', async () => {
    expect(await problems('see [1]: {"name": "Ada", "age": "old"}')).toStrictEqual([
      '$.age must be a whole number, but is "old"',
    ])
  })

  it('accepts nothing from truncated JSON', async () => {
    const cut = '{"people": [{"name": "Ada"}, {"name": "Bo'
    expect(await problems(cut)).toStrictEqual(['$ is not valid JSON: an unterminated string at line 1, column 39'])
    expect(await problems(`\`\`\`json\n${cut}`)).toHaveLength(1)
    expect(await problems('{"name": "Ada", "age": 3')).toStrictEqual([
      '$ is not valid JSON: no matching } at line 1, column 1',
    ])
  })

  it('accepts nothing from broken JSON', async () => {
    const [first] = await problems('{"people": [{"name": "Ada"}], "count": 1,}')
    expect(first).toMatch(/^\$ is not valid JSON: .*position 41/)
    expect(await problems('[{"name": "Ada"}')).toHaveLength(1)
  })

  it.each(['', ' \n', 'I cannot do that.'])('reports that there is no JSON in %j', async (answer) => {
    const [first] = await problems(answer)
    expect(first).toBe('$ is not JSON')
  })

  it('requests one answer if two different ones are valid', async () => {
    const two = '```json\n{"name": "Ada"}\n```\nor\n```json\n{"name": "Bo"}\n```\n'
    expect(await problems(two)).toStrictEqual(['$ contains 2 different JSON values, but only one is allowed'])
    expect(await read(two.replace('Bo', 'Ada'))).toMatchObject({ kind: 'ok', value: { name: 'Ada' } })
    expect(await read(two.replace('"Bo"', '7'))).toMatchObject({ kind: 'ok', value: { name: 'Ada' } })
  })

  it('reads huge answers', async () => {
    const items = Array.from({ length: 100_000 }, (_, id) => ({ id, text: `"quoted" ${'\\'.repeat(id % 5)} ü` }))
    const schema = { items: { required: ['id', 'text'] }, minItems: 100_000 }
    const result = await read(`Here: ${JSON.stringify(items)} Done.`, schema)
    expect(result).toMatchObject({ kind: 'ok' })
    expect(result.kind === 'ok' && JSON.parse(result.text)).toEqual(items)
    expect(await read(JSON.stringify('x\n'.repeat(2_000_000)), {})).toMatchObject({ kind: 'ok' })
  })

  it('terminates for hostile answers', async () => {
    expect(await problems('['.repeat(core(200_000, 1_000_000)))).toHaveLength(1)
    expect(await problems('['.repeat(core(60_000, 300_000)) + ']'.repeat(core(60_000, 300_000)))).toStrictEqual([
      '$ is not valid JSON: values nested deeper than 200 levels at line 1, column 202',
    ])
    expect(await problems('{} '.repeat(core(40_000, 200_000)))).toStrictEqual(['$ the key "name" is missing'])
    expect(await problems('{"'.repeat(core(100_000, 500_000)))).toHaveLength(1)
  })
})

describe('the correction request to the model', () => {
  it('contains the schema and each problem on its line', async () => {
    const result = await read('{"age": "old"}')
    const message = repairMessage(result.kind === 'wrong' ? result.problems : [], person)
    expect(message).toContain('\n- $ the key "name" is missing\n- $.age must be a whole number, but is "old"\n')
    expect(message).toContain(JSON.stringify(person))
  })
})

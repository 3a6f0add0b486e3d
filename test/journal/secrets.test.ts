import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { readValue } from '../../src/journal/cassette.ts'
import { createMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { everythingBelow, newRunFolder, recordsIn } from './fixtures/run-folder.ts'
import { effectOf, openGate, placeAt } from '../helpers/effects.ts'
import { item } from '../../src/event/place.ts'

const environment = {
  OPENAI_API_KEY: 'sk-openai-123456',
  BATON_GATEWAY_KEY: 'gateway-key-1',
  MY_SERVICE_TOKEN: 'token-12345678',
  SOME_SECRET: 'sk-openai-123456-and-more',
  PIN: '47-11',
  HOME: '/home/someone',
  SHORT_TOKEN: 'none',
}

describe('createMask', () => {
  const { mask, unmask } = createMask(environment, { names: ['PIN', 'NOT_SET'] })

  it('hides known keys, what looks like one, and what the user named, anywhere in a text', () => {
    expect(mask('Bearer sk-openai-123456, gateway-key-1!')).toBe(
      'Bearer «secret:OPENAI_API_KEY», «secret:BATON_GATEWAY_KEY»!',
    )
    expect(mask('xtoken-12345678y 47-11')).toBe('x«secret:MY_SERVICE_TOKEN»y «secret:PIN»')
  })

  it('prefers the longer of two secrets that begin alike', () => {
    expect(mask('sk-openai-123456-and-more sk-openai-123456')).toBe('«secret:SOME_SECRET» «secret:OPENAI_API_KEY»')
  })

  it('leaves other variables and short placeholders alone', () => {
    expect(mask('/home/someone has none')).toBe('/home/someone has none')
  })

  it('takes values as they are, also when they look like a pattern', () => {
    const odd = createMask({ A_TOKEN: '.*+?^${}()|[]\\' })
    expect(odd.mask('a .*+?^${}()|[]\\ b')).toBe('a «secret:A_TOKEN» b')
    expect(odd.unmask('a «secret:A_TOKEN» b')).toBe('a .*+?^${}()|[]\\ b')
  })

  it.each([
    'sk-openai-123456 and 47-11',
    'text that says «secret:OPENAI_API_KEY» itself',
    '«secret:«secret:=»47-11»',
    '«secret:=»',
    '',
  ])('gives %j back as it was', (text) => {
    expect(unmask(mask(text))).toBe(text)
    expect(mask(text)).not.toMatch(/sk-openai|47-11/)
  })

  it('hides a key without the blanks and line breaks around it, as it is sent', () => {
    const padded = createMask({ A_TOKEN: ' key-0123456789\n', PIN: ' 4711 ', BLANK: ' ' }, { names: ['PIN', 'BLANK'] })
    expect(padded.hide('key-0123456789, 4711 or nothing')).toBe('«secret:A_TOKEN», «secret:PIN» or nothing')
  })

  it('hides secrets that are in no variable of their own', () => {
    const { hide } = createMask({}, { values: { 'gateway.base_url?key': 'query-secret-1', short: 'x' } })
    expect(hide('x?key=query-secret-1')).toBe('x?key=«secret:gateway.base_url?key»')
  })

  it.each([
    ['nothing here', 0],
    ['it is sk-open', 7],
    ['it is s', 1],
    // the whole of one, and perhaps the beginning of a longer one
    ['sk-openai-123456', 16],
    ['sk-openai-123456-and-more', 0],
    ['', 0],
  ])('knows how much at the end of %j may be the beginning of a secret', (text, length) => {
    expect(createMask(environment).begun(text)).toBe(length)
  })

  it('does not take the end of a secret for the beginning of the next one', () => {
    expect(createMask({ A_TOKEN: 'abcdefgha' }).begun('abcdefgha')).toBe(0)
    expect(createMask({}).begun('abcdefgha')).toBe(0)
  })

  it('leaves the name where the environment has the variable no more', () => {
    expect(createMask({}).unmask(mask('47-11'))).toBe('«secret:PIN»')
  })
})

it('writes no secret to any file, whatever it stands in, and gives values back with it', async () => {
  const folder = newRunFolder()
  const mask = createMask(environment, { names: ['PIN'] })
  const journal = await openRun({ folder, now: () => new Date(0), mask })
  const effects = createEffects({ ...openGate, journal, signal: new AbortController().signal })
  const key = environment.OPENAI_API_KEY
  const bytes = new Uint8Array(Buffer.concat([Buffer.from([255, 0]), Buffer.from(`key=${key}`)]))
  const value = { [key]: [`a ${key} b`, { deep: environment.PIN }], bytes, long: `${'x'.repeat(70_000)}${key}` }

  journal.note({
    k: 'run.start',
    run: 'r',
    file: `/w/${key}.md`,
    hash: 'ff',
    version: '1',
    facts: { key },
    pins: value,
  })
  journal.note({ k: 'source', name: key, path: key, hash: 'ff', value: key })
  effects.observe([item(key)], { name: key, args: [value as never] }, () => value)
  const change = { op: 'write', path: key, before: null, after: null }
  effects.changeFile([item(key)], change, () => ({ record: change, act: () => undefined }))
  await effects.call([item(key)], { name: key, args: [value as never] }, () => value)
  await effects.perform(
    [item(`at ${key}`)],
    effectOf({ kind: 'http', request: { key }, repeat: 'unsafe' }),
    async () => value,
  )
  const failing = effects.perform(placeAt('a'), effectOf({ kind: 'tool', request: key, repeat: 'safe' }), () =>
    Promise.reject(new BatonError('MODEL_FAILED', `bad ${key}`, { hint: key, place: { file: key } })),
  )
  await expect(failing).rejects.toThrow(key)
  await effects.boundary([item(key)], async () => value, { inputs: { code: key, value } })
  journal.note({ k: 'run.end', exit: 0, stop: 'done', facts: key })
  await journal.close()

  const written = everythingBelow(dirname(folder))
  expect(written).toContain('secret:OPENAI_API_KEY')
  for (const form of [key, environment.PIN, Buffer.from(`key=${key}`).toString('base64').slice(4, 20)]) {
    expect(written).not.toContain(form)
  }
  const records = await recordsIn(folder)
  const done = records.flatMap((record) => (record.k === 'done' ? [record.value] : []))
  expect(await readValue(done[0], { folder, mask })).toEqual(value)
})

it('does not let a secret that equals a word of the format change the format', async () => {
  const folder = newRunFolder()
  const words = { A: 'done', B: 'ok', C: 'model', D: 'safe', E: '1', F: 'ticks' }
  const mask = createMask(words, { names: Object.keys(words) })
  const journal = await openRun({ folder, now: () => new Date(0), mask })
  const effects = createEffects({ ...openGate, journal, signal: new AbortController().signal })
  await effects.perform(placeAt('ok'), effectOf({ kind: 'model', request: 'ok', repeat: 'safe' }), async () => 'done')
  await effects.boundary(placeAt('b'), async () => 1)
  await expect(openRun({ folder, now: () => new Date(0), mask })).rejects.toMatchObject({ code: 'USAGE' })
  await journal.close()
  expect(await recordsIn(folder)).toMatchObject([
    { k: 'started', kind: 'model', repeat: 'safe', p: '«secret:B»' },
    { k: 'ended', kind: 'model', status: 'ok', value: '«secret:A»' },
    { k: 'begin' },
    { k: 'done' },
  ])
})

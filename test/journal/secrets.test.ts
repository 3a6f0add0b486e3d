import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { readValue } from '../../src/journal/cassette.ts'
import { createMask, secretNames } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { everythingBelow, newRunFolder, recordsIn } from './fixtures/run-folder.ts'
import { effectOf, openGate, placeAt } from '../helpers/effects.ts'
import { createRandom, oneOf } from '../helpers/random.ts'
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

  it('masks known keys, probable keys, and values that the user named, anywhere in a text', () => {
    expect(mask('Bearer sk-openai-123456, gateway-key-1!')).toBe(
      'Bearer «secret:OPENAI_API_KEY», «secret:BATON_GATEWAY_KEY»!',
    )
    expect(mask('xtoken-12345678y 47-11')).toBe('x«secret:MY_SERVICE_TOKEN»y «secret:PIN»')
  })

  it('prefers the longer of two secrets with the same beginning', () => {
    expect(mask('sk-openai-123456-and-more sk-openai-123456')).toBe('«secret:SOME_SECRET» «secret:OPENAI_API_KEY»')
  })

  it('does not mask other variables and short placeholders', () => {
    expect(mask('/home/someone has none')).toBe('/home/someone has none')
  })

  it('treats values literally, also if they look like a pattern', () => {
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
  ])('restores %j unchanged', (text) => {
    expect(unmask(mask(text))).toBe(text)
    expect(mask(text)).not.toMatch(/sk-openai|47-11/)
  })

  it('masks a key without surrounding blanks and line breaks, as it is sent', () => {
    const padded = createMask({ A_TOKEN: ' key-0123456789\n', PIN: ' 4711 ', BLANK: ' ' }, { names: ['PIN', 'BLANK'] })
    expect(padded.hide('key-0123456789, 4711 or nothing')).toBe('«secret:A_TOKEN», «secret:PIN» or nothing')
  })

  it('masks secrets that are not in a variable of their own', () => {
    const { hide } = createMask({}, { values: { 'gateway.base_url?key': 'query-secret-1', short: 'x' } })
    expect(hide('x?key=query-secret-1')).toBe('x?key=«secret:gateway.base_url?key»')
  })

  it.each([
    ['nothing here', 0],
    ['it is sk-open', 7],
    ['it is s', 1],
    // one complete secret, and possibly the start of a longer one
    ['sk-openai-123456', 16],
    ['sk-openai-123456-and-more', 0],
    ['', 0],
  ])('knows how much at the end of %j may be the beginning of a secret', (text, length) => {
    expect(createMask(environment).begun(text)).toBe(length)
  })

  it('does not mistake the end of a secret for the beginning of the next one', () => {
    expect(createMask({ A_TOKEN: 'abcdefgha' }).begun('abcdefgha')).toBe(0)
    expect(createMask({}).begun('abcdefgha')).toBe(0)
  })

  it('keeps the placeholder if the variable is no longer in the environment', () => {
    expect(createMask({}).unmask(mask('47-11'))).toBe('«secret:PIN»')
  })
})

describe('other forms of a secret', () => {
  const key = 'p"ä/ss+wörd\\0123456789'
  const { mask, hide, unmask, begun } = createMask({ A_TOKEN: key })
  const prefixes = ['', 'x', 'xy', 'xyz', 'user:']

  it.each(['base64', 'base64url'] as const)('are %s after any number of bytes', (encoding) => {
    for (const prefix of prefixes) {
      const text = `Basic ${Buffer.from(`${prefix}${key}!`).toString(encoding)} end`
      expect(mask(text)).toMatch(/^Basic .{0,10}«secret:A_TOKEN:base64(?:url)?\.[012]».{0,4} end$/)
      expect(unmask(mask(text))).toBe(text)
    }
  })

  it('include URL-encoded text and text in JSON, each restored as it was', () => {
    const text = `?k=${encodeURIComponent(key)} ${JSON.stringify({ key })} ${key}`
    expect(hide(text)).toBe('?k=«secret:A_TOKEN:url» {"key":"«secret:A_TOKEN:json»"} «secret:A_TOKEN»')
    expect(unmask(mask(text))).toBe(text)
    expect(secretNames(mask(text))).toEqual(['A_TOKEN'])
  })

  it.each([
    ['percent-encoded in lower case', 'sk-SEC%2fret%2bkey%3d(x)!*0123abcd'],
    ['percent-encoded with more characters than needed', 'sk-SEC%2Fret%2Bkey%3D%28x%29%21%2A0123abcd'],
    ['percent-encoded in part', 'sk-SEC%2fret+key=%28x)!*0123abcd'],
    ['percent-encoded twice', 'sk-SEC%252Fret%252bkey%3D(x)!*0123abcd'],
    ['in JSON with an escaped slash', String.raw`sk-SEC\/ret+key=(x)!*0123abcd`],
    ['in JSON in JSON', String.raw`sk-SEC\\/ret\\u002bkey=(x)!*0123abcd`],
    ['in JSON with escaped characters', String.raw`\u0073k-SEC\u002Fret\u002bkey\u003d(x)!*0123abcd`],
    ['in HTML', 'sk-SEC&#x2F;ret&#43;key&#x3d;(x)!*0123abcd'],
  ])('are found %s, and restored as they were', (_, written) => {
    const { mask, hide, unmask, begun } = createMask({ A_TOKEN: 'sk-SEC/ret+key=(x)!*0123abcd' })
    const text = `bad key ${written}, 100%; a\\b &c`
    expect(mask(text)).toMatch(/^bad key «secret:A_TOKEN:spelled\.[0-9a-z]{28}», 100%; a\\b &c$/)
    expect(hide(text)).toBe(mask(text))
    expect(unmask(mask(text))).toBe(text)
    expect(secretNames(mask(text))).toEqual(['A_TOKEN'])
    for (let end = 1; end < written.length; end += 1) expect(begun(`bad key ${written.slice(0, end)}`)).toBe(end)
  })

  it('are found across chunks: a possible beginning of one is recognized', () => {
    const whole = Buffer.from(`xy${key}`).toString('base64').slice(3, -4)
    for (let end = 1; end < whole.length - 1; end += 1) expect(begun(`- ${whole.slice(0, end)}`)).toBe(end)
  })

  it('are not derived from values so short that they occur in ordinary text', () => {
    const short = createMask({ PIN: '47' }, { names: ['PIN'] })
    expect(short.hide(`47 and ${Buffer.from('47').toString('base64')}`)).toBe('«secret:PIN» and NDc=')
  })
})

describe('what is a secret', () => {
  const long = 'a-value-of-16-ch'

  it.each([
    'DB_PASSWORD',
    'MYSQL_PWD',
    'PGPASSWORD',
    'ADMIN_PASSWD',
    'SSH_KEY_PASSPHRASE',
    'AWS_SECRET_ACCESS_KEY',
    'SECRET_KEY_BASE',
    'CLIENT_SECRET_V2',
    'STRIPE_KEY',
    'npm_config__authToken',
    'SERVICE_CREDENTIALS',
    'API_KEY',
  ])('is the value of %s', (name) => {
    expect(createMask({ [name]: long }).hide(long)).toBe(`«secret:${name}»`)
  })

  it.each([
    ['PWD', '/somewhere/that/is/long'],
    ['OLDPWD', '/somewhere/that/is/long'],
    ['GOOGLE_APPLICATION_CREDENTIALS', '/home/me/key-file.json'],
    ['SSH_KEY', '~/.ssh/id_ed25519'],
    ['MONKEY', long],
    ['MAX_TOKENS', '100000000'],
    ['DB_PASSWORD', 'password'],
    ['DB_PASSWORD', 'hunter2'],
  ])('is not the value of %s=%s', (name, value) => {
    expect(createMask({ [name]: value }).hide(value)).toBe(value)
  })

  it.each([
    ['postgres://app:s3cr3t-pw-0@db:5432/x', 's3cr3t-pw-0'],
    ['https://me:p%40ss-word-1@host/x', 'p@ss-word-1'],
    ['Server=db;User=me;Password=s3cr3t-pw-0;', 's3cr3t-pw-0'],
    ['AccountName=a;AccountKey=bG9uZy1rZXktMDEyMw==;', 'bG9uZy1rZXktMDEyMw=='],
  ])('is the secret part of the address %s', (value, password) => {
    const { hide, mask, unmask } = createMask({ DATABASE: value })
    expect(hide(value)).not.toContain(password)
    expect(hide(`it is ${password}.`)).toMatch(/^it is «secret:DATABASE#\d».$/)
    expect(unmask(mask(`${value} ${password}`))).toBe(`${value} ${password}`)
    expect(secretNames(mask(password))).toEqual(['DATABASE'])
  })

  it('is not a password that equals the name of its user', () => {
    const url = 'postgres://postgres:postgres@localhost/x'
    expect(createMask({ DATABASE_URL: url }).hide(url)).toBe(url)
  })
})

it('finds the same as separate searches, and restores every text', () => {
  const random = createRandom(7)
  const letters = ['a', 'b', 'ab', 'ba', 'aab', 'YWE', '«secret:', '%', '»', 'ä']
  const word = (most: number): string =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => oneOf(random, letters)).join('')
  for (let round = 0; round < 300; round += 1) {
    const values = Array.from({ length: 1 + Math.floor(random() * 5) }, () => word(4))
    const environment = Object.fromEntries(values.map((value, index) => [`V${index}`, value]))
    const { mask, unmask, hide, begun } = createMask(environment, { names: Object.keys(environment) })
    const text = word(40)
    expect(unmask(mask(text))).toBe(text)
    const cut = Math.floor(random() * text.length)
    const ready = cut - begun(text.slice(0, cut))
    expect(hide(text.slice(0, ready)) + hide(text.slice(ready))).toBe(hide(text))
  }
})

it('finds secrets at every position of a long text, next to any characters', () => {
  const environment = { A_TOKEN: 'first-secret-value', B_TOKEN: 'second\u{1f600}secret', C: 'z' }
  const { mask, unmask } = createMask(environment, { names: ['C'] })
  for (const filler of ['x', 'é', '\u{1f600}', '\ud800']) {
    for (const place of [0, 1, 127, 128, 129, 16_370, 16_383, 16_384, 16_385, 32_768, 40_000]) {
      const before = filler.repeat(place).slice(0, place)
      const text = `${before}${environment.A_TOKEN}${filler}${environment.B_TOKEN}z`
      const masked = mask(text)
      expect(masked).toBe(`${before}«secret:A_TOKEN»${filler}«secret:B_TOKEN»«secret:C»`)
      expect(unmask(masked)).toBe(text)
    }
  }
  const many = Array.from({ length: 3000 }, (_, index) => `${index} ${environment.A_TOKEN}`)
  expect(mask(many.join('\n'))).toBe(many.join('\n').replaceAll(environment.A_TOKEN, '«secret:A_TOKEN»'))
  const long = { A_TOKEN: 'y'.repeat(40_000), B_TOKEN: 'second-secret' }
  expect(createMask(long).mask(`x${long.A_TOKEN}x${long.B_TOKEN}`)).toBe('x«secret:A_TOKEN»x«secret:B_TOKEN»')
})

it('writes no secret to any file, whatever contains it, and restores values with it', async () => {
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

it('a secret that equals a word of the format does not change the format', async () => {
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

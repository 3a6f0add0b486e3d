import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const config = `
[providers.lab]
base_url = "http://127.0.0.1:9/v1"
api_key_env = "LAB_KEY"
default_model = "lab-large"

[model_aliases]
mine = "lab::lab-large"
cheap = "luna"

[prices]
"lab-large" = { input = 1.25, output = 10 }
"openai::gpt-6-luna" = { input = 7, output = 8, cached = 0.5 }
`
const cwd = tempTree({ 'home/config/config.toml': config, 'work/baton.toml': '' })
const around = {
  cwd: `${cwd}/work`,
  env: { BATON_HOME: `${cwd}/home`, LAB_KEY: 'value-of-the-key', OPENAI_API_KEY: '' },
}

interface Row {
  readonly label: string
  readonly [field: string]: unknown
}

async function rowsOf(...words: readonly string[]): Promise<readonly Row[]> {
  const { code, stdout, stderr } = await baton(['models', ...words, '--json'], around)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain('value-of-the-key')
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
}

describe('baton models', () => {
  it('lists each model of a short name once, with its names, prices, window and key', async () => {
    const [source, ...rows] = await rowsOf()
    expect(source).toMatchObject({ kind: 'prices', package: '@pydantic/genai-prices' })
    expect(new Set(rows.map(({ label }) => label)).size).toBe(rows.length)
    expect(rows.find(({ label }) => label === 'anthropic::claude-fable-5-2')).toEqual({
      kind: 'model',
      label: 'anthropic::claude-fable-5-2',
      provider: 'anthropic',
      model: 'claude-fable-5-2',
      names: ['fable'],
      input: 8,
      cached: 0.2,
      output: 40,
      window: 1_000_000,
      key: 'ANTHROPIC_API_KEY',
      key_set: false,
    })
  })

  it('knows the providers, aliases and prices of the user’s config', async () => {
    const rows = await rowsOf()
    expect(rows.find(({ label }) => label === 'lab::lab-large')).toMatchObject({
      names: ['normal', 'high', 'fast', 'mine'],
      input: 1.25,
      cached: 1.25,
      window: null,
      key: 'LAB_KEY',
      key_set: true,
    })
    expect(rows.find(({ label }) => label === 'openai::gpt-6-luna')).toMatchObject({ input: 7, cached: 0.5, output: 8 })
  })

  it('lists every known model that contains a word, and those without a price only if they have a name', async () => {
    const labels = (await rowsOf('GPT-5')).slice(1).map(({ label }) => label)
    expect(labels).toContain('openai::gpt-5-mini')
    expect(labels.filter((label) => !label.includes('gpt-5'))).toEqual([])
    expect((await rowsOf('glm-5.3')).find(({ label }) => label === 'together::zai-org/GLM-5.3')).toMatchObject({
      input: null,
    })
  })

  it('ends with exit code 2 and the nearest name if nothing contains the word', async () => {
    const { code, stdout, stderr } = await baton(['models', 'sonnett'], around)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      'error: no known model contains "sonnett"\nhint: Did you mean "sonnet"? baton models lists the models that have a short name.\n',
    )
  })
})

const packageName = '@pydantic/genai-prices'
const closers: (() => void)[] = []
afterAll(() => closers.forEach((close) => close()))

/** A table of prices with a price for Haiku. */
function tableWith(input: number): string {
  const price = (id: string): object => ({ id, match: { equals: id }, prices: { input_mtok: input, output_mtok: 9 } })
  const vendors = [
    {
      id: 'anthropic',
      api_pattern: 'https://api\\.anthropic\\.com',
      models: [price('claude-haiku-5-5'), price('claude-new-9')],
    },
    { id: 'google', api_pattern: 'https://g', models: [price('gemini-9')] },
    { id: 'openai', api_pattern: 'https://o', models: [price('gpt-9')] },
  ]
  return `exports.waitForUpdate = async () => (${JSON.stringify(vendors)})`
}

interface Registry {
  readonly address: string
  readonly requests: readonly string[]
}

/** A registry on this machine with one version of the package. */
async function registryWith(version: string, program: string): Promise<Registry> {
  const manifest = { name: packageName, version, main: './main.cjs' }
  const folder = tempTree({
    'package/package.json': JSON.stringify({ ...manifest, scripts: { postinstall: 'touch "$BATON_TEST_RAN"' } }),
    'package/main.cjs': program,
  })
  expect(spawnSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: folder }).status).toBe(0)
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    if (request.url === '/package.tgz') return response.end(readFileSync(join(folder, 'package.tgz')))
    const { port } = server.address() as AddressInfo
    const versions = { [version]: { ...manifest, dist: { tarball: `http://127.0.0.1:${port}/package.tgz` } } }
    const time = { [version]: '2031-01-02T03:04:05.678Z' }
    return response.end(JSON.stringify({ name: packageName, 'dist-tags': { latest: version }, versions, time }))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  closers.push(() => server.close())
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

describe.skipIf(spawnSync('npm', ['--version']).status !== 0)('baton models update', () => {
  const folder = tempTree({ 'work/baton.toml': '', 'home/.npmrc': 'fetch-retries=0\n' })
  const [work, home, ran] = ['work', 'home', 'ran'].map((name) => join(folder, name)) as [string, string, string]
  const pricesFile = join(home, 'data/prices/prices.json')
  const env = { HOME: home, BATON_HOME: home, BATON_TEST_RAN: ran }
  const update = async (more: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<BatonResult> =>
    baton(['models', 'update', ...words], { cwd: work, env: { ...env, ...more }, process: 'own' })

  it('takes a newer table by the user’s npm, runs no script of it, and says which version is used', async () => {
    const { address } = await registryWith('7.8.9', tableWith(33))
    const { code, stdout, stderr } = await update({ npm_config_registry: address })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^prices of @pydantic\/genai-prices 7\.8\.9, instead of \d+\.\d+\.\d+\n$/)
    const listed = await baton(['models', 'claude-', '--json'], { cwd: work, env })
    const [source, ...rows] = listed.stdout.split('\n')
    expect(source).toContain('"version":"7.8.9","updated":true')
    // newer than the table of models, which goes before for what the package does not have
    expect(rows.find((row) => row.includes('claude-haiku-5-5'))).toContain('"input":33,"cached":33,"output":9,')
    expect(rows.find((row) => row.includes('claude-fable-5-2'))).toContain('"input":8,')
    expect(rows.some((row) => row.includes('anthropic::claude-new-9'))).toBe(true)
    expect(readdirSync(join(pricesFile, '..'))).toEqual(['prices.json'])
    expect(existsSync(ran)).toBe(false)
  })

  it.each([
    ['a table of another form', 'exports.waitForUpdate = async () => [{ id: "openai" }]', 'another form'],
    ['a program that needs files', 'require("node:fs").writeFileSync(process.env.BATON_TEST_RAN, "")', 'require'],
  ])('keeps the prices if the package is %s', async (_, program, reason) => {
    const before = readFileSync(pricesFile, 'utf8')
    const { address } = await registryWith('8.0.0', program)
    const { code, stdout, stderr } = await update({ npm_config_registry: address })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(new RegExp(`^error: @pydantic/genai-prices.* cannot be used: .*${reason}`))
    expect(readFileSync(pricesFile, 'utf8')).toBe(before)
    expect(readdirSync(join(pricesFile, '..'))).toEqual(['prices.json'])
    expect(existsSync(ran)).toBe(false)
  })

  it('never asks a server that the folder names, also not when npm has started it there', async () => {
    const [own, foreign] = [await registryWith('7.8.9', tableWith(33)), await registryWith('9.9.9', tableWith(1))]
    writeFileSync(join(home, '.npmrc'), `registry=${own.address}\n`)
    writeFileSync(join(work, '.npmrc'), `registry=${foreign.address}\n`)
    writeFileSync(join(work, 'package.json'), '{"workspaces":["*"]}')
    writeFileSync(join(work, '.env'), `npm_config_registry=${foreign.address}\n`)
    const plain = await update({})
    expect(plain).toMatchObject({ code: 0, stdout: `prices of ${packageName} 7.8.9; there is no newer version\n` })
    expect((await update({ npm_command: 'exec', npm_config_registry: foreign.address })).code).toBe(0)
    expect((await update({}, '--env', '.env')).code).toBeGreaterThan(0)
    expect(own.requests.length).toBeGreaterThan(1)
    expect(foreign.requests).toEqual([])
  })
})

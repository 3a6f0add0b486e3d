import { join } from 'node:path'
import { expect, it } from 'vitest'
import { modelInForce } from '../../src/load/model-in-force.ts'

const lab = { base_url: 'https://lab.test/v1', api_key_env: 'LAB_KEY' }

function inForce(name: string | undefined, env: Readonly<Record<string, string>>) {
  const settings = { providers: { lab }, model_aliases: {} }
  const signal = new AbortController().signal
  const tableFile = join(import.meta.dirname, '../../agents/models.toml')
  return modelInForce(name, settings, {
    tableFile,
    env: { BATON_LOCAL_SERVERS: 'off', ...env },
    signal,
    isAttended: true,
  })
}

it('says which model would answer, and that none is configured', async () => {
  expect(await inForce('lab::m', { LAB_KEY: 'k' })).toEqual({ label: 'lab::m', isOffline: false, isFallback: false })
  expect(await inForce('offline::extractive', {})).toMatchObject({ isOffline: true, isFallback: false })
  expect(await inForce(undefined, {})).toMatchObject({ isOffline: true, isFallback: true })
})

it('refuses a name that stands for nothing, and one whose key is missing', async () => {
  await expect(inForce('nope-17', {})).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  await expect(inForce('lab::m', {})).rejects.toMatchObject({ code: 'KEY_MISSING' })
})

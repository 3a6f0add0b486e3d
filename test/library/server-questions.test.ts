import { expect, it } from 'vitest'
import { personOf, type ServerAnswer } from '../../src/library/server-questions.ts'
import { placeAt } from '../helpers/effects.ts'

const { signal } = new AbortController()
const at = placeAt('main/data#0')
const form = { kind: 'form', message: 'Who?', schema: { type: 'object' } } as const
const url = { kind: 'url', message: 'Log in.', url: 'https://example.com' } as const

it('a program answers questions that a server asks the user', async () => {
  const asked: unknown[] = []
  const ask = personOf((question) => {
    asked.push(question)
    return { accept: { name: 'Ada' } }
  })
  expect(await ask({ server: 's', at, question: form }, signal)).toEqual({ action: 'accept', content: { name: 'Ada' } })
  expect(await ask({ server: 's', at, question: url }, signal)).toEqual({ action: 'accept' })
  expect(asked).toEqual([
    { ...form, server: 's', agent: 'main/data#0', signal: expect.any(AbortSignal) },
    { ...url, server: 's', agent: 'main/data#0', signal: expect.any(AbortSignal) },
  ])
  const decline = personOf(() => 'decline')
  expect(await decline({ server: 's', at, question: form }, signal)).toEqual({ action: 'decline' })
  const wrong = personOf(() => 'yes' as ServerAnswer)
  await expect(wrong({ server: 's', at, question: form }, signal)).rejects.toMatchObject({ code: 'USAGE' })
})

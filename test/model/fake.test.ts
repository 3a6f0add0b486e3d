import { textMessage } from '../../src/event/message.ts'
import { expect, it } from 'vitest'
import { createFakeProvider, type FakeTurn } from '../helpers/fake-model.ts'
import { collectModelEvents, describeModelProvider, textOf } from '../contract/model-provider.ts'

const never = new AbortController().signal
const request = { model: 'm', messages: [textMessage('user', 'Hello')] } as const

describeModelProvider('createFakeProvider', async () => {
  return { provider: createFakeProvider(() => ({ text: ['one ', 'two'] })), request }
})

it('plays its turns in order and stores the requests', async () => {
  const provider = createFakeProvider([{ text: ['a'] }, { text: ['b'], finish: 'length' }])
  expect(textOf(await collectModelEvents(provider.stream(request, never)))).toBe('a')
  const second = await collectModelEvents(provider.stream({ ...request, model: 'n' }, never))
  expect(second.at(-1)).toEqual({ type: 'finish', reason: 'length' })
  expect(provider.requests.map(({ model }) => model)).toEqual(['m', 'n'])
})

it('fails the call when no turn is left', async () => {
  const provider = createFakeProvider([])
  await expect(collectModelEvents(provider.stream(request, never))).rejects.toMatchObject({ code: 'MODEL_FAILED' })
})

it('fails after the text of a turn with a failure', async () => {
  const failure = new Error('cut')
  const turn: FakeTurn = { text: ['half'], failure }
  const provider = createFakeProvider([turn])
  const seen: string[] = []
  const consume = async (): Promise<void> => {
    for await (const event of provider.stream(request, never)) if (event.type === 'text') seen.push(event.text)
  }
  await expect(consume()).rejects.toBe(failure)
  expect(seen).toEqual(['half'])
})

it('waits for its gate, and stops waiting when aborted', async () => {
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  const provider = createFakeProvider(() => ({ text: ['a'], gate }))
  const controller = new AbortController()
  const aborted = collectModelEvents(provider.stream(request, controller.signal))
  const answered = collectModelEvents(provider.stream(request, never))
  controller.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
  release()
  expect(textOf(await answered)).toBe('a')
})

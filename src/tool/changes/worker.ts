// The thread of text-thread.ts. It is an entry of its own: nothing imports it.
import { parentPort } from 'node:worker_threads'
import { isBatonError, messageOf } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import { textWork, type WorkAnswer, type WorkRequest } from './text-work.ts'

const parent = parentPort
if (parent === null) throw new Error('this file is started as a worker thread')

parent.on('message', ({ name, args }: WorkRequest) => parent.postMessage(answerOf({ name, args })))

function answerOf({ name, args }: WorkRequest): WorkAnswer {
  try {
    return { kind: 'done', value: (textWork[name] as (...values: readonly unknown[]) => unknown)(...args) }
  } catch (error) {
    const told = isBatonError(error) ? { code: error.code, ...defined({ hint: error.hint }) } : {}
    return { kind: 'failed', message: messageOf(error), ...told }
  }
}

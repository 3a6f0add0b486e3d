import { expectTypeOf, it } from 'vitest'
import type { RunForm, SentTriggers, StartAsked } from '../../../src/page/live/wire.ts'
import type { RunForm as ServedForm } from '../../../src/serve/http/run-form.ts'
import type { StartAgain } from '../../../src/serve/http/start-again.ts'
import type { Triggers } from '../../../src/serve/triggers/triggers.ts'

// The page may not import the server, so it names the types of what it is sent itself. The compiler checks them here.

it('what the server sends has the types that the page expects', () => {
  expectTypeOf<ServedForm>().toExtend<RunForm>()
  expectTypeOf<StartAgain>().toExtend<StartAsked>()
  expectTypeOf<Awaited<ReturnType<Triggers['list']>>>().toExtend<SentTriggers>()
})

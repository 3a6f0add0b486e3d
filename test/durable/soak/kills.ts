import type { Disturbance } from '../../helpers/durable/play.ts'
import type { Try } from '../../helpers/durable/trial.ts'
import { type Fault, numbersTo, type SoakContext, trials } from './fault.ts'

const modes = ['before', 'half', 'after'] as const

function kill(disturb: Disturbance): Try {
  return { at: JSON.stringify(disturb), starts: [{ disturb }] }
}

/** A run is killed at each operation on its journal. */
export const everyPoint: Fault = {
  id: 'F1',
  name: 'SIGKILL at every operation on the journal, three ways',
  points: (context) =>
    trials(
      // the number of operations varies with how records are batched for a sync
      numbersTo(context.operations + 5).flatMap((at) => modes.map((when) => kill({ at, when }))),
      context,
    ),
}

/** A run is killed at each operation on the files of the workspace. */
export const everyFilePoint: Fault = {
  id: 'F1',
  name: 'SIGKILL at every operation on files of the workspace',
  points: (context) =>
    trials(
      numbersTo(120).flatMap((at) => modes.map((when) => kill({ at, when, scope: 'workspace' }))),
      context,
    ),
}

/** A run is killed, and so is its resume; some of them three times. */
export const pairs: Fault = {
  id: 'F2',
  name: 'SIGKILL again during the resume, two and three times in a row',
  points: (context) =>
    trials(
      numbersTo(100).map((number) => several(2 + (number % 2), context)),
      context,
    ),
}

function several(count: number, { operations, random }: SoakContext): Try {
  const starts = numbersTo(count).map((number) => ({
    disturb: {
      // a resume has fewer operations than the run
      at: 1 + Math.floor(random() * (operations / number)),
      when: modes[Math.floor(random() * modes.length)] ?? 'before',
    },
  }))
  return { at: JSON.stringify(starts.map(({ disturb }) => disturb)), starts }
}

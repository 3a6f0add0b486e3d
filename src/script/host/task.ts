import type { HostModule } from './module.ts'
import { pinFunctions } from './pins.ts'

/** `aip.task` (spec/aipack.md 6.2): what is shown about the task that a section works on. */
export const taskModule: HostModule = { name: 'aip.task', functions: pinFunctions('task') }

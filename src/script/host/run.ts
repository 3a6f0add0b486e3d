import type { HostModule } from './module.ts'
import { pinFunctions } from './pins.ts'

/** `aip.run` (spec/aipack.md 6.2): what is shown about the run of this agent. */
export const runModule: HostModule = { name: 'aip.run', functions: pinFunctions('run') }

import { checkSpec } from './specs/check.ts'
import { completionSpec } from './specs/completion.ts'
import { configSpec } from './specs/config.ts'
import { doctorSpec } from './specs/doctor.ts'
import { initSpec } from './specs/init.ts'
import { listSpec } from './specs/list.ts'
import { newSpec } from './specs/new.ts'
import { runSpec } from './specs/run.ts'
import { schemaSpec } from './specs/schema.ts'
import type { CommandSpec } from './specs/spec.ts'

/** Every command of `baton`. The first is meant when none is named. */
export const commandTable: readonly CommandSpec[] = [
  runSpec,
  checkSpec,
  newSpec,
  initSpec,
  listSpec,
  configSpec,
  schemaSpec,
  doctorSpec,
  completionSpec,
]

import { checkSpec } from './specs/check.ts'
import { completionSpec } from './specs/completion.ts'
import { configSpec } from './specs/config.ts'
import { doctorSpec } from './specs/doctor.ts'
import { initSpec } from './specs/init.ts'
import { installSpec } from './specs/install.ts'
import { listSpec } from './specs/list.ts'
import { newSpec } from './specs/new.ts'
import { packSpec } from './specs/pack.ts'
import { planSpec } from './specs/plan.ts'
import { resumeSpec } from './specs/resume.ts'
import { runSpec } from './specs/run.ts'
import { runsSpec } from './specs/runs.ts'
import { schemaSpec } from './specs/schema.ts'
import type { CommandSpec } from './specs/spec.ts'
import { testSpec } from './specs/test.ts'
import { trustSpec } from './specs/trust.ts'
import { unpackSpec } from './specs/unpack.ts'

/** Every command of `baton`. The first is meant when none is named. */
export const commandTable: readonly CommandSpec[] = [
  runSpec,
  resumeSpec,
  runsSpec,
  checkSpec,
  testSpec,
  planSpec,
  newSpec,
  initSpec,
  listSpec,
  installSpec,
  packSpec,
  unpackSpec,
  trustSpec,
  configSpec,
  schemaSpec,
  doctorSpec,
  completionSpec,
]

import { checkSpec } from './specs/check.ts'
import { configSpec } from './specs/config.ts'
import { runSpec } from './specs/run.ts'
import type { CommandSpec } from './specs/spec.ts'

/** Every command of `baton`. The first is meant when none is named. */
export const commandTable: readonly CommandSpec[] = [runSpec, checkSpec, configSpec]

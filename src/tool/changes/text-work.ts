import { unifiedDiff } from '../../base/unified-diff.ts'
import { readFileChanges } from './answer-changes.ts'
import { nearestPlaces } from './nearest.ts'
import { parseChanges } from './parse.ts'
import { planChange } from './plan-content.ts'

/** All that is worked out of the texts of answers and files, and of nothing else. */
export const textWork = { readFileChanges, parseChanges, planChange, nearestPlaces, unifiedDiff }

export type TextWork = typeof textWork
export type WorkName = keyof TextWork

/** One piece of it, as it is sent to a thread. */
export interface WorkRequest {
  readonly name: WorkName
  readonly args: readonly unknown[]
}

export type WorkAnswer =
  | { readonly kind: 'done'; readonly value: unknown }
  | {
      readonly kind: 'failed'
      readonly message: string
      /** Of a `BatonError`. */
      readonly code?: string
      readonly hint?: string
    }

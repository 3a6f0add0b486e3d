import type { PlannedStrategy } from '../plan/planner.ts'
import { delegate } from './delegate/row.ts'
import { ensemble } from './ensemble/row.ts'
import { iterate } from './iterate/row.ts'
import { workflow } from './workflow/row.ts'

/** Every strategy, in the order in which a run looks for the one that is set. Their code is loaded when it is needed. */
export const strategies: readonly PlannedStrategy[] = [iterate, workflow, ensemble, delegate]

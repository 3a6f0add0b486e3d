/** One input of one stage. */
export interface QueuedTask {
  readonly run: string
  /** Where in the run; with `run` it names the task. */
  readonly place: string
  /** JSON. */
  readonly input: unknown
}

/**
 * Takes a task to its end. What comes of it the handler keeps itself: a queue gives nothing back. It does not reject,
 * and ends soon once the signal aborts.
 */
export type TaskHandler = (task: QueuedTask, signal: AbortSignal) => Promise<void>

export interface WorkLimits {
  /** Tasks of this worker under way at once; at least 1. */
  readonly local: number
}

/** Takes no more tasks, aborts those under way, and resolves once they have ended. */
type StopWork = () => Promise<void>

/**
 * Hands tasks to who works on them (spec/engines.md D4). What tasks give and how far a run is stands in the journal and
 * never in a queue. Every implementation passes test/contract/task-queue.ts.
 */
export interface TaskQueue {
  /** Resolves once the task will be worked on. One that waits or is under way is not added a second time. */
  submit(task: QueuedTask): Promise<void>
  /** Works on tasks in the order they were submitted, also on those submitted later. One worker at a time. */
  work(handler: TaskHandler, limits: WorkLimits): StopWork
  /** Forgets the tasks of a run that wait, and aborts those under way. */
  cancel(run: string): Promise<void>
}

import { basename } from 'node:path'
import { createPool } from '../../base/concurrency.ts'
import { beginning, parsePosition, type Position } from '../../journal/follow.ts'
import type { RunActions } from './change-runs.ts'
import type { EventStreams } from './event-stream.ts'
import { createTextReaders } from '../../journal/text-relay.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { Conversations } from './conversations.ts'
import type { Inbox } from './inbox.ts'
import { listEvents, type ListFeed } from './list-feed.ts'
import {
  type ComparisonLimits,
  readComparison,
  readRunChanges,
  readRunDetail,
  readRunList,
  readReport,
  readRunPlace,
  readRunSteps,
  readRunTeams,
} from './read-runs.ts'
import { Refusal } from '../refusal.ts'
import { events, get, type Params, post, type Route } from './route.ts'
import { rowsAfter, runEvents } from './run-events.ts'
import type { RunFeeds } from './run-feed.ts'
import * as schemas from './schemas.ts'
import { folderOf, type ServedWorkspace } from './served-workspace.ts'
import type { ShownRuns } from './shown-run.ts'

export interface RunsRoutesOptions {
  readonly served: ServedWorkspace
  readonly held: ActiveRuns
  readonly actions: RunActions
  readonly conversations: Pick<Conversations, 'release'>
  readonly feeds: RunFeeds
  readonly list: ListFeed
  readonly shown: ShownRuns
  readonly inbox: Inbox
  readonly streams: EventStreams
  /** Overrides of the default limits of a comparison. */
  readonly comparison?: Partial<ComparisonLimits> | undefined
}

/** The routes for runs: recorded ones, active ones, and ones started by this server. */
export function runsRoutes({ served, held, comparison: limits, ...parts }: RunsRoutesOptions): readonly Route[] {
  const { actions, conversations, feeds, list, streams, shown, inbox } = parts
  const idOf = ({ id = '' }: Params): string => id
  const folderAt = (params: Params): string => folderOf(served, idOf(params))
  const { begun } = schemas
  const comparisons = createPool(1)
  const outside = createTextReaders()

  return [
    get(
      { path: '/api/runs', summary: 'Runs, newest first', query: schemas.runListQuery, gives: schemas.runList },
      ({ query }) => readRunList(served, shown, query),
    ),
    get(
      { path: '/api/inbox', summary: 'The runs that wait for a person', query: schemas.noQuery, gives: schemas.inbox },
      async () => ({
        workspace: { name: basename(served.workspace), folder: served.workspace },
        items: await inbox.read(),
      }),
    ),
    events({ path: '/api/events', summary: 'Runs that start, end or are resumed', query: schemas.noQuery }, async () =>
      streams.open(listEvents(list)),
    ),
    get(
      {
        path: '/api/compare',
        summary: 'The differences between two runs',
        query: schemas.compareQuery,
        gives: schemas.comparison,
      },
      // one at a time, because runs of this server use the same threads
      ({ query, request: { signal } }) =>
        comparisons.run(() => readComparison(served, { ...query, limits, signal }), signal),
    ),
    get(
      {
        path: '/api/runs/:id',
        summary: 'A run, and whether it can be resumed',
        query: schemas.detailQuery,
        gives: schemas.runDetail,
      },
      ({ params, query }) => {
        const folder = folderAt(params)
        return readRunDetail(served, folder, { feed: feeds.of(folder), shown, held, ...query })
      },
    ),
    get(
      {
        path: '/api/runs/:id/rows',
        summary: 'What a run has done so far',
        query: schemas.cursorQuery,
        gives: schemas.rowPage,
      },
      async ({ params, query }) => {
        const after = positionOf(query.after)
        const feed = feeds.of(folderAt(params))
        await feed.refresh()
        return rowsAfter(feed, after)
      },
    ),
    events(
      { path: '/api/runs/:id/events', summary: 'The progress of a run', query: schemas.cursorQuery },
      async ({ params, query, request }) => {
        const after = positionOf(request.headers.get('last-event-id') ?? query.after)
        const feed = feeds.of(folderAt(params))
        await feed.refresh()
        const id = idOf(params)
        const texts = feed.isOver() || held.isHeld(id) ? held.textsOf(id) : outside.of(folderAt(params))
        return streams.open(runEvents(feed, after, texts))
      },
    ),
    get(
      {
        path: '/api/runs/:id/place',
        summary: 'A part of a run with its prompts and answers',
        query: schemas.placeQuery,
        gives: schemas.placeDetail,
      },
      ({ params, query }) => readRunPlace(folderAt(params), query.place),
    ),
    get(
      {
        path: '/api/runs/:id/steps',
        summary: 'What the agents of a run did before their answers',
        query: schemas.noQuery,
        gives: schemas.runSteps,
      },
      ({ params }) => readRunSteps(served, folderAt(params)),
    ),
    get(
      {
        path: '/api/runs/:id/report',
        summary: 'The report of a run',
        query: schemas.reportQuery,
        gives: schemas.report,
      },
      ({ params, query, request: { signal } }) => readReport(served, folderAt(params), { ...query, signal }),
    ),
    get(
      {
        path: '/api/runs/:id/changes',
        summary: 'The file changes of a run',
        query: schemas.noQuery,
        gives: schemas.changeList,
      },
      ({ params }) => readRunChanges(folderAt(params)),
    ),
    get(
      {
        path: '/api/runs/:id/team',
        summary: 'The agent teams of a run',
        query: schemas.noQuery,
        gives: schemas.teamList,
      },
      ({ params }) => readRunTeams(folderAt(params)),
    ),
    post({ path: '/api/runs', summary: 'Starts a run', body: schemas.startBody, gives: begun }, async ({ body }) => ({
      id: await actions.start(body),
    })),
    post(
      { path: '/api/runs/:id/cancel', summary: 'Stops a run of this server', body: schemas.noBody, gives: begun },
      async ({ params }) => ({
        id: actions.cancel(idOf(params)),
      }),
    ),
    post(
      { path: '/api/runs/:id/resume', summary: 'Resumes a run', body: schemas.resumeBody, gives: begun },
      async ({ params, body }) => {
        const id = idOf(params)
        await conversations.release(id)
        return { id: await actions.resume(id, body.uncertain ?? []) }
      },
    ),
    post(
      {
        path: '/api/runs/:id/undo',
        summary: 'Undoes the file changes of a run',
        body: schemas.undoBody,
        gives: begun,
      },
      async ({ params, body }) => ({ id: await actions.undo(idOf(params), body.paths ?? []) }),
    ),
    post(
      {
        path: '/api/runs/:id/questions/:question',
        summary: 'Answers a question of an MCP server',
        body: schemas.answerBody,
        gives: begun,
        status: 200,
      },
      async ({ params, body }) => {
        actions.answerServer(idOf(params), params['question'] ?? '', body)
        return { id: idOf(params) }
      },
    ),
    post(
      {
        path: '/api/runs/:id/approvals/:call/approve',
        summary: 'Approves a call',
        body: schemas.approveBody,
        gives: schemas.decided,
        status: 200,
      },
      async ({ params, body }) => ({
        open: await actions.decide(idOf(params), params['call'] ?? '', { kind: 'approve', ...body }),
      }),
    ),
    post(
      {
        path: '/api/runs/:id/approvals/:call/reject',
        summary: 'Rejects a call',
        body: schemas.rejectBody,
        gives: schemas.decided,
        status: 200,
      },
      async ({ params, body }) => ({
        open: await actions.decide(idOf(params), params['call'] ?? '', { kind: 'reject', ...body }),
      }),
    ),
  ]
}

/** @throws Refusal 400 for an invalid cursor */
function positionOf(cursor: string | undefined): Position {
  if (cursor === undefined || cursor === '') return beginning
  const position = parsePosition(cursor)
  if (position === undefined) throw new Refusal(400, 'invalid cursor')
  return position
}

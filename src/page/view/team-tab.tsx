import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { costText, countText, whenText } from '../data/format.ts'
import { fetchTeams } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { TeamExchange, TeamMember, TeamView } from '../live/wire.ts'
import { Loading } from './loading.tsx'
import { StateBadge } from './state-badge.tsx'

interface TeamTabProps {
  readonly run: string
  /** Version of the rows. The teams are fetched again when it changes. */
  readonly version: number
}

/** The agent teams of a run, with their members and messages. */
export function TeamTab({ run, version }: TeamTabProps): VNode {
  const [loaded, again] = useLoaded(run, () => fetchTeams(run))
  useEffect(again, [version])
  return (
    <Loading loaded={loaded}>
      {({ teams }) => {
        if (teams === undefined || teams === null || teams.length === 0)
          return <p class="empty">No team in this run.</p>
        return (
          <div class="teams">
            {teams.map((team, index) => (
              <OneTeam key={index} team={team} />
            ))}
          </div>
        )
      }}
    </Loading>
  )
}

function OneTeam({ team }: { readonly team: TeamView }): VNode {
  const { members, exchanges = [] } = team
  const nameOf = (id: string): string => members.find((member) => member.id === id)?.name ?? id
  return (
    <section class="team">
      <h2>Members</h2>
      <ul class="members">
        {members.map((member) => (
          <Member key={member.id} member={member} startedBy={member.from === null ? undefined : nameOf(member.from)} />
        ))}
      </ul>
      {exchanges.length > 0 && (
        <>
          <h2>Messages</h2>
          <Exchanges exchanges={exchanges} nameOf={nameOf} />
        </>
      )}
    </section>
  )
}

interface MemberProps {
  readonly member: TeamMember
  readonly startedBy: string | undefined
}

function Member({ member, startedBy }: MemberProps): VNode {
  const { name, role, status, prompt, text, tokens, calls, cost_usd: cost, depth } = member
  return (
    <li class="member" style={{ marginLeft: `${depth * 20}px` }}>
      <p>
        <strong>{name}</strong> {role !== '' && <span class="tag">{role}</span>} <StateBadge state={status} />
        <span class="about">
          {' '}
          {[
            ...(startedBy === undefined ? [] : [`started by ${startedBy}`]),
            `${calls} call${calls === 1 ? '' : 's'}`,
            `${countText(tokens.input + tokens.output)} tokens`,
            costText(cost),
          ].join(' · ')}
        </span>
      </p>
      {prompt !== '' && <p class="about">{prompt}</p>}
      {text !== '' && <p class="said">{text}</p>}
    </li>
  )
}

interface ExchangesProps {
  readonly exchanges: readonly TeamExchange[]
  readonly nameOf: (id: string) => string
}

const shownAtFirst = 200

function Exchanges({ exchanges, nameOf }: ExchangesProps): VNode {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? exchanges : exchanges.slice(0, shownAtFirst)
  return (
    <ol class="exchanges">
      {shown.map(({ at, kind, from, to, text }, index) => (
        <li key={index}>
          <time dateTime={at}>{whenText(at)}</time>
          <span class="tag">{kind}</span>
          <span>
            {from !== undefined && <strong>{nameOf(from)}</strong>}
            {to !== undefined && (
              <>
                {' → '}
                <strong>{nameOf(to)}</strong>
              </>
            )}
            {text !== undefined && text !== '' && <span class="said"> {text}</span>}
          </span>
        </li>
      ))}
      {shown.length < exchanges.length && (
        <li>
          <button type="button" onClick={() => setWhole(true)}>
            Show all {exchanges.length}
          </button>
        </li>
      )}
    </ol>
  )
}

/** Rules of the data files, each turned into its opposite: what `npm run mutate` runs tests with,
 *  to see that they notice. */

interface Period {
  since?: string
  until?: string
}

type Row = Period & Record<string, unknown>

export interface Mutation {
  readonly name: string
  /** Beside lib/codec/schema/schema.ts, or from lib. */
  readonly file: string
  readonly apply: (content: never) => void
}

interface Behaviours {
  readonly minors: readonly string[]
  readonly behaviours: (Period & { id: string; what: string })[]
}

/** Every behaviour, for all minors at once, and one row of each other class. */
export function mutationsOf(behaviours: Behaviours): Mutation[] {
  const ids = [...new Set(behaviours.behaviours.map(({ id }) => id))]
  return [...ids.map(flipBehaviour), ...otherRows]
}

function flipBehaviour(id: string): Mutation {
  return {
    name: `behaviour ${id}`,
    file: 'codec/schema/data/behaviours.json',
    apply: (content: Behaviours) => {
      const own = content.behaviours.filter(row => row.id === id)
      const others = content.behaviours.filter(row => row.id !== id)
      const { minors } = content
      const holds = (minor: string): boolean => own.some(row => isWithin(row, minor, minors))
      const flipped = minors
        .filter(minor => !holds(minor))
        .map(minor => ({ id, what: 'flipped', since: minor, until: minor }))
      content.behaviours.splice(0, Infinity, ...others, ...flipped)
    },
  }
}

function isWithin({ since, until }: Period, minor: string, minors: readonly string[]): boolean {
  const at = minors.indexOf(minor)
  return (
    (since === undefined || minors.indexOf(since) <= at) &&
    (until === undefined || at <= minors.indexOf(until))
  )
}

interface Types {
  readonly types: Record<string, { f: [string, number, string, string?, Period?][] } & Period>
}

const otherRows: readonly Mutation[] = [
  {
    name: 'field PodStatus.observedGeneration of every minor',
    file: 'codec/schema/data/types.json',
    apply: ({ types }: Types) => {
      const fields = types['core/v1.PodStatus']?.f ?? []
      for (const field of fields) if (field[0] === 'observedGeneration') field[4] = {}
      const at = fields.findIndex(([name]) => name === 'observedGeneration')
      if (at >= 0) fields.splice(at, 1)
    },
  },
  {
    name: 'omission of a zero creationTimestamp',
    file: 'codec/schema/data/types.json',
    apply: ({ types }: Types) => {
      for (const field of types['meta/v1.ObjectMeta']?.f ?? []) {
        if (field[0] === 'creationTimestamp') field[3] = field[3] === 'oz' ? 'o' : 'oz'
      }
    },
  },
  {
    name: 'default of a read: seLinuxMount of CSI drivers',
    file: 'codec/schema/data/read-defaults.json',
    apply: ({ rules }: { rules: Row[] }) => drop(rules, ({ field }) => field === 'seLinuxMount'),
  },
  {
    name: 'default by minor: conditions of a failure policy',
    file: 'codec/schema/data/more-defaults.json',
    apply: ({ rules }: { rules: Row[] }) => {
      for (const rule of rules) if (rule.since !== undefined) delete rule.since
    },
  },
  {
    name: 'storage version: resource slices of 1.34',
    file: 'codec/schema/data/resources.json',
    apply: ({ resources }: { resources: Row[] }) =>
      drop(resources, ({ resource, until }) => resource === 'resourceslices' && until === '1.34'),
  },
  {
    name: 'column: secrets of a service account',
    file: 'codec/schema/data/tables.json',
    apply: ({ tables }: { tables: { resource: string; columnDefinitions: Row[] }[] }) => {
      for (const { resource, columnDefinitions } of tables) {
        const isWanted = resource === 'serviceaccounts'
        drop(columnDefinitions, ({ name }) => isWanted && name === 'Secrets')
      }
    },
  },
  {
    name: 'document: order of the groups',
    file: 'kube/documents/discovery.json',
    apply: ({ groupOrder }: { groupOrder: string[] }) => groupOrder.reverse(),
  },
]

function drop(rows: Row[], isDropped: (row: Row) => boolean): void {
  rows.splice(0, Infinity, ...rows.filter(row => !isDropped(row)))
}

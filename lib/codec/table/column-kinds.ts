/** The kinds of printed columns. kube-apiserver declares most columns as strings, whatever is in
 *  them, so which are numbers, quantities, times or durations is written here. */

/** The kind of a column's values, by which it is sorted and compared. */
export type ColumnKind = 'text' | 'number' | 'quantity' | 'time' | 'duration'

/** A column as a Table declares it, with the kind of its values. */
export interface TableColumn {
  readonly name: string
  readonly priority: number
  readonly kind: ColumnKind
}

/** Columns that are printed alike wherever they are. */
const byName: ReadonlyMap<string, ColumnKind> = new Map<string, ColumnKind>([
  ['Age', 'time'],
  ['First Seen', 'time'],
  ['Last Seen', 'time'],
  ['Last Schedule', 'time'],
  ['TimeAdded', 'time'],
  ['Duration', 'duration'],
  ['RequestedDuration', 'duration'],
  ['Capacity', 'quantity'],
])

/** Numbers that are declared as strings, by resource. */
const numbers: Readonly<Record<string, readonly string[]>> = {
  configmaps: ['Data'],
  controllerrevisions: ['Revision'],
  deployments: ['Up-to-date', 'Available'],
  events: ['Count'],
  flowschemas: ['MatchingPrecedence'],
  horizontalpodautoscalers: ['MinPods', 'MaxPods', 'Replicas'],
  pods: ['Restarts'],
  prioritylevelconfigurations: [
    'NominalConcurrencyShares',
    'Queues',
    'HandSize',
    'QueueLengthLimit',
  ],
  resourcepoolstatusrequests: ['Total', 'Available', 'Allocated', 'Unavailable', 'Errors'],
  secrets: ['Data'],
  serviceaccounts: ['Secrets'],
}

/** Times that are declared as strings, by resource. */
const times: Readonly<Record<string, readonly string[]>> = {
  resourcepoolstatusrequests: ['Completed'],
}

/** The kind of a column's values by its declared type alone, as definitions have it. */
export function kindOfType(type: string): ColumnKind {
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'date' ? 'time' : 'text'
}

/** The kind of a built-in resource's column. */
export function kindOfColumn(
  resource: string,
  { name, type }: { readonly name: string; readonly type: string },
): ColumnKind {
  if (numbers[resource]?.includes(name) === true) return 'number'
  if (times[resource]?.includes(name) === true) return 'time'
  return byName.get(name) ?? kindOfType(type)
}

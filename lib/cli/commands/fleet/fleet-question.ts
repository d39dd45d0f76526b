/** The question to several clusters: which these are, and what each of them is asked. */

import { badRequest, parseTarget, type Query } from '@watchglass/kube'

export interface FleetQuestion {
  /** Names and patterns with `*`. */
  readonly names: readonly string[]
  readonly patterns: readonly RegExp[]
  /** The view of each cluster: its first rows, among which those of the page are. */
  readonly target: string
  /** `-age,name` */
  readonly sort: string
  readonly page: number
  readonly pageSize: number
  readonly isCount: boolean
  readonly isLive: boolean
  /** The time limit of a live view. */
  readonly timeoutSeconds: number | undefined
}

/** Names in a selection: each is asked, whoever the caller is. */
const namesMax = 20
/** Rows of each cluster that a page can be found among. */
const rowsMax = 1_000
const pageSizeDefault = 50
const timeoutMaxSeconds = 86_400

/** Parameters of one cluster's views that have no meaning for several. */
const ofOne = ['revision', 'after']
/** Parameters that are not asked of each cluster as they are. */
const notOfEach = /^(?:page|pageSize|watch|timeoutSeconds)(?:=|$)/

const place = /^\/views\/clusters\/([a-z0-9*,-]+)(\/(?:api|apis)\/.*)$/

export function isFleetView(target: string): boolean {
  return target.startsWith('/views/clusters/')
}

/** Refuses what is no question to several clusters. */
export function fleetQuestionOf(target: string): FleetQuestion {
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const [, selection, rest] = place.exec(path) ?? []
  const parsed = parseTarget(target)
  if (selection === undefined || rest === undefined || parsed === undefined) {
    throw badRequest('views over clusters are at /views/clusters/NAMES/(api|apis)/...')
  }
  const { query } = parsed
  for (const name of ofOne) {
    if (query.first(name) !== undefined) throw badRequest(`${name} is not for several clusters`)
  }
  const page = numberIn(query, 'page', { fallback: 1, max: rowsMax })
  const pageSize = numberIn(query, 'pageSize', { fallback: pageSizeDefault, max: rowsMax })
  if (page * pageSize > rowsMax) {
    throw badRequest(`pages of several clusters reach to row ${rowsMax}: narrow the question`)
  }
  const isLive = isLiveIn(query)
  const hasTimeout = query.first('timeoutSeconds') !== undefined
  const pairs = mark < 0 ? [] : target.slice(mark + 1).split('&')
  const kept = pairs.filter(pair => pair !== '' && !notOfEach.test(pair))
  const isCount = kept.some(pair => pair.startsWith('countBy='))
  const rows = isCount ? [] : [`pageSize=${page * pageSize}`]
  const ofEach = [...kept, ...rows, ...(isLive ? ['watch=1'] : [])].join('&')
  return {
    ...chosenIn(selection),
    target: `/views${rest}?${ofEach}`,
    sort: query.first('sort') ?? '',
    page,
    pageSize,
    isCount,
    isLive,
    timeoutSeconds: hasTimeout
      ? numberIn(query, 'timeoutSeconds', { fallback: 0, max: timeoutMaxSeconds })
      : undefined,
  }
}

function isLiveIn(query: Query): boolean {
  const text = query.first('watch')
  if (text === undefined || text === '0' || text === 'false') return false
  if (text === '1' || text === 'true') return true
  throw badRequest('watch is 1 or 0')
}

function numberIn(
  query: Query,
  name: string,
  { fallback, max }: { readonly fallback: number; readonly max: number },
): number {
  const text = query.first(name)
  if (text === undefined) return fallback
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > max) throw badRequest(`${name} is a number from 1 to ${max}`)
  return value
}

function chosenIn(selection: string): Pick<FleetQuestion, 'names' | 'patterns'> {
  const words = new Set(selection.split(',').filter(word => word !== ''))
  const names = [...words].filter(word => !word.includes('*'))
  if (names.length > namesMax) throw badRequest(`more than ${namesMax} names of clusters`)
  const patterns = [...words]
    .filter(word => word.includes('*'))
    .map(word => new RegExp(`^${word.replace(/\*+/g, '[a-z0-9-]*')}$`))
  return { names, patterns }
}

/** deploy/grafana/*.json, made from tables of panels. `node
 *  dist/test/support/program/write-options.js` writes them. */

import { overviewRows } from './overview.ts'
import type { Panel, Row } from './panels.ts'
import { watchRows } from './watches.ts'

export interface Dashboard {
  readonly name: 'overview' | 'watches'
  readonly title: string
  readonly rows: readonly Row[]
}

/** Every dashboard there is. */
export const dashboards: readonly Dashboard[] = [
  {
    name: 'overview',
    title: 'Watchglass: overview',
    rows: overviewRows,
  },
  { name: 'watches', title: 'Watchglass: watches', rows: watchRows },
]

/** The file of a dashboard. */
export function dashboardFile({ name }: Pick<Dashboard, 'name'>): string {
  return `deploy/grafana/${name}.json`
}

/** A dashboard as Grafana imports it. */
export function dashboardJson({ name, title, rows }: Dashboard): string {
  let id = 0
  let y = 0
  const panels: object[] = []
  for (const { title: rowTitle, panels: inRow } of rows) {
    panels.push({ id: ++id, type: 'row', title: rowTitle, gridPos: { h: 1, w: 24, x: 0, y } })
    y++
    let x = 0
    let height = 0
    for (const panel of inRow) {
      const [w, h] = panel.kind === 'stat' ? [4, 4] : [8, 8]
      if (x + w > 24) {
        y += height
        x = 0
        height = 0
      }
      panels.push({ id: ++id, gridPos: { h, w, x, y }, ...panelJson(panel) })
      x += w
      height = Math.max(height, h)
    }
    y += height
  }
  const dashboard = {
    uid: `watchglass-${name}`,
    title,
    tags: ['watchglass'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [datasource, variable('job'), variable('instance', 'job=~"$job"')] },
    panels,
  }
  return `${JSON.stringify(dashboard, null, 2)}\n`
}

const source = { type: 'prometheus', uid: '${datasource}' }

const datasource = { name: 'datasource', type: 'datasource', query: 'prometheus' }

function variable(name: string, selection = ''): object {
  return {
    name,
    type: 'query',
    datasource: source,
    query: { query: `label_values(watchglass_build_info{${selection}}, ${name})`, refId: name },
    refresh: 2,
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  }
}

const grafanaTypes = { stat: 'stat', graph: 'timeseries', bars: 'bargauge' } as const

function panelJson({ title, kind, unit, description, queries }: Panel): object {
  return {
    type: grafanaTypes[kind],
    title,
    description,
    datasource: source,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(([legendFormat, expr], i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: source,
      expr,
      ...(legendFormat === '' ? {} : { legendFormat }),
      ...(kind === 'graph' ? {} : { instant: true }),
    })),
  }
}

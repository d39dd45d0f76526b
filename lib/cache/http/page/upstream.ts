/** The upstream: its servers, what passes to it and why, and what the comparisons with it have
 *  shown. */

import { basisOf, recordedRange } from '@watchglass/codec'
import type { Figures } from './figures.ts'
import { bytes } from './format.ts'
import { html, type Html } from './html.ts'
import type { PageSource } from './page-source.ts'
import { badge, section, table } from './table.ts'

export function upstream(figures: Figures, source: PageSource): Html | undefined {
  if (source.isSwitchedOff === undefined) return undefined
  const reasons = [...figures.by('watchglass_passed_requests_total', 'reason')]
  return section(
    { id: 'upstream', title: 'Upstream', about: aboutVersions(source.versions()) },
    html`<div class="side">
      ${table({
        caption: 'Servers of the upstream',
        columns: [
          { title: 'Server' },
          { title: 'State' },
          { title: 'Requests in flight', isFigure: true },
        ],
        rows: source
          .servers()
          .map(({ name, problem, inFlight }) => [
            name,
            problem === undefined ? badge('healthy', 'good') : badge(problem, 'bad'),
            String(inFlight),
          ]),
      })}
      ${table({
        caption: 'Requests that passed, by reason',
        columns: [{ title: 'Passed because' }, { title: 'Requests', isFigure: true }],
        rows: reasons
          .toSorted(([, a], [, b]) => b - a)
          .map(([reason]) => [
            reason,
            figures.show('watchglass_passed_requests_total', { where: { reason } }),
          ]),
      })}
    </div>`,
  )
}

function aboutVersions(versions: readonly string[]): Html | undefined {
  if (versions.length === 0) return undefined
  const names = versions.join(', ')
  const basis = versions.map(basisOf).every(one => one === 'recorded')
    ? 'Recordings of such servers were compared with answers of this program before it was released.'
    : `No recordings of such servers were compared before (there are some of ${recordedRange()}): answers rest on the comparisons below.`
  return versions.length === 1
    ? html`Its servers are of version ${names}. ${basis}`
    : html`Its servers are of versions ${names}: what these answer differently passes until they
      agree. ${basis}`
}

export function evidence(figures: Figures, source: PageSource): Html | undefined {
  if (source.isSwitchedOff === undefined) return undefined
  const differing = (source.resources?.() ?? []).flatMap(({ resource, groupVersion, ...one }) =>
    one.formsThatDiffer.map(text => [`${resource} ${groupVersion}`, text] as const),
  )
  const forms = 'watchglass_evidence_forms'
  return section(
    {
      id: 'evidence',
      title: 'Evidence',
      about: html`Before a form of a kind is answered from memory, it is compared with the
      upstream's own bytes: ${figures.show('watchglass_evidence_comparisons_total')} answers
      (${figures.show('watchglass_evidence_bytes_total', { as: bytes })}) so far.`,
    },
    html`<div class="side">
      ${table({
        caption: 'Forms by evidence',
        columns: [{ title: 'Forms' }, { title: 'Count', isFigure: true }],
        rows: [...figures.by(forms, 'state').keys()].map(state => [
          state,
          figures.show(forms, { where: { state } }),
        ]),
      })}
      ${table({
        caption: 'Comparisons by outcome',
        columns: [
          { title: 'Outcome' },
          { title: 'Before answers', isFigure: true },
          { title: 'With --compare', isFigure: true },
        ],
        rows: outcomes.map(outcome => [
          outcome,
          figures.show('watchglass_evidence_comparisons_total', { where: { outcome } }),
          figures.show('watchglass_compared_reads_total', { where: { outcome } }),
        ]),
      })}
    </div>`,
    differing.length === 0
      ? html`<p class="card">No difference was found.</p>`
      : table({
          caption: 'First differences',
          columns: [{ title: 'Kind' }, { title: 'Form, and where the upstream differs' }],
          rows: differing.slice(0, differencesShown),
        }),
  )
}

const outcomes = ['same', 'differs', 'moved', 'inexact', 'refused', 'failed']
const differencesShown = 20

/** The place for objects, which the script fills in the browser. */

import { html, type Html } from './html.ts'
import type { PageSource } from './page-source.ts'
import { section } from './table.ts'

/** Parts of the page: the figures of this process, objects as the caller may read them, or both. */
export type Shows = 'figures' | 'objects' | 'all'

export function objects(shows: Shows): Html | undefined {
  if (shows === 'figures') return undefined
  return html`<section id="objects" aria-labelledby="objects-title" hidden>
      <nav aria-label="Place among the objects"><ul id="objects-way"></ul></nav>
      <h2 id="objects-title" tabindex="-1">Objects</h2>
      <p id="objects-state" class="soft" role="status"></p>
      <div id="objects-content"></div>
    </section>
    ${
      shows === 'objects'
        ? html`<noscript
            ><p class="card">Objects are shown by a script, which is off.</p></noscript
          >`
        : undefined
    }`
}

/** The reason why a listener without authentication that stands beside the API shows no objects. */
export function withoutObjects(
  shows: Shows,
  { isSwitchedOff, isEtcdOnly }: PageSource,
): Html | undefined {
  if (shows !== 'figures' || isEtcdOnly === true) return undefined
  const elsewhere =
    isSwitchedOff === undefined
      ? 'The page at / of --listen shows them, as far as whoever asks may read them.'
      : 'With an upstream no page does: ask with kubectl, which asks as you.'
  return section({
    id: 'objects',
    title: 'Objects',
    about: `This listener does not ask who is looking, so it shows no objects. ${elsewhere}`,
  })
}

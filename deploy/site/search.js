// The search: sections that have all words, those first that have them in the heading. `sections`
// comes from search-index.js.
const { root } = document.currentScript.dataset
const input = document.getElementById('search')
const list = document.getElementById('found')

if (matchMedia('(max-width: 760px)').matches) document.querySelector('details').open = false

input.addEventListener('input', () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  const found = words.length === 0 ? [] : search(words)
  list.replaceChildren(...found.slice(0, 30).map(({ section }) => item(section, words)))
  if (words.length > 0 && found.length === 0) {
    const none = document.createElement('li')
    none.textContent = 'Nothing has all of these words.'
    list.append(none)
  }
})

function search(words) {
  return sections
    .map(section => {
      const [, title, heading, text] = section.map(part => part.toLowerCase())
      let score = 0
      for (const word of words) {
        if (heading.includes(word)) score += 10
        else if (title.includes(word)) score += 5
        else if (text.includes(word)) score += 1
        else return { section, score: 0 }
      }
      return { section, score }
    })
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
}

function item([link, title, heading, text], words) {
  const entry = document.createElement('li')
  const anchor = document.createElement('a')
  anchor.href = `${root}/${link}`
  anchor.textContent = heading === title ? title : `${title}: ${heading}`
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40)
  const excerpt = document.createElement('p')
  excerpt.textContent = text.slice(at, at + 140)
  entry.append(anchor, excerpt)
  return entry
}

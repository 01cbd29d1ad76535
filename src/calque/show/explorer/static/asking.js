// Questions to the server. A refusal becomes an error with the server's own sentence.

export class Refusal extends Error {
  constructor(answer) {
    super(answer.error);
    this.similar = answer.similar ?? [];
    this.elsewhere = answer.elsewhere ?? [];
  }
}

export async function ask(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  let answer;
  try {
    answer = await fetch(query ? `${path}?${query}` : path);
  } catch {
    throw new Refusal({ error: "calque does not answer any more: the command was ended. Start it again." });
  }
  if (!answer.ok) {
    throw new Refusal(await answer.json().catch(() => ({ error: `the server answered ${answer.status}` })));
  }
  return answer;
}

export async function askJson(path, parameters) {
  return (await ask(path, parameters)).json();
}

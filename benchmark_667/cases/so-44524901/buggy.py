"""Ratings of films by two small matrices: people x tastes, tastes x films."""
import numpy as np
import torch

PEOPLE, FILMS, TASTES = 40, 25, 3

# everyone has rated about half of the films
liking = np.random.rand(PEOPLE, TASTES)
genre = np.random.rand(TASTES, FILMS)
stars = 1 + 4 * liking.dot(genre) / liking.dot(genre).max()
stars += 0.1 * np.random.randn(PEOPLE, FILMS)
known = np.random.rand(PEOPLE, FILMS) < 0.5

ratings = torch.tensor(stars, dtype=torch.float32)
mask = torch.tensor(known, dtype=torch.float32)
mean_rating = (ratings * mask).sum() / mask.sum()

people = (0.1 * torch.randn(PEOPLE, TASTES)).requires_grad_()
films = (0.1 * torch.randn(TASTES, FILMS)).requires_grad_()
person_bias = torch.zeros(PEOPLE, 1, requires_grad=True)
film_bias = torch.zeros(1, FILMS, requires_grad=True)


def predict():
    shared = torch.dot(people, films)
    return mean_rating + shared + person_bias + film_bias


def squared_error(predicted, weight):
    return (weight * (predicted - ratings) ** 2).sum() / weight.sum()


optimizer = torch.optim.Adam([people, films, person_bias, film_bias], lr=0.03, weight_decay=1e-3)
for round_ in range(200):
    optimizer.zero_grad()
    error = squared_error(predict(), mask)
    error.backward()
    optimizer.step()
    if round_ % 40 == 0:
        print("round %3d: error on known ratings %.4f" % (round_, error.item()))

with torch.no_grad():
    unseen = squared_error(predict(), 1 - mask)
print("rmse on films not rated yet: %.3f" % unseen.sqrt().item())
